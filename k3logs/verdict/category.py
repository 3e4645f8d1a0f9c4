"""Which kind of trouble a root is: by its signature, else by its exception's type and phase."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from k3logs.errors import AuthorError
from k3logs.incidents.failure import Failure
from k3logs.model import CATEGORIES

FILE = Path(__file__).parent / "data" / "categories.toml"


_GENERIC = frozenset({"KeyError", "ValueError", "TypeError", "AttributeError", "RuntimeError", "AssertionError", "IndexError"})
"""Types that say nothing of the kind of trouble; the phase says more."""


@cache
def table(file: Path = FILE) -> tuple[dict[str, str], dict[str, str], str]:
    """Types, phases and the default of ``data/categories.toml``."""
    try:
        data = tomllib.loads(file.read_text())
        types, phases, default = dict(data["types"]), dict(data["phases"]), str(data["default"]["category"])
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise AuthorError(file, 0, f"not a table of categories: {error}", "it has [types], [phases] and [default]") from error
    for value in [*types.values(), *phases.values(), default]:
        if value not in CATEGORIES:
            raise AuthorError(file, 0, f"unknown category {value!r}", f"one of {', '.join(CATEGORIES)}")
    return types, phases, default


def category_of(failure: Failure, phase: str) -> str:
    """The category of a root that failed in ``phase``."""
    if failure.signature is not None and failure.role != "loud":
        return failure.signature.category
    types, phases, default = table()
    if not failure.event.chain:
        return "unknown"
    kind = failure.event.chain[failure.link].type.rpartition(".")[2]
    if kind in _GENERIC and phase in phases:
        return phases[phase]
    if kind in types:
        return types[kind]
    return default
