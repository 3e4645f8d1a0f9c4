"""All line grammars, compiled once and kept in a cache; Lark's own tables are unpacked only when a line is parsed.

``envelopes`` are peeled again and again, one of the ``dialects`` reads what is left; the dialects that ``order.toml`` names as
``texts`` are what untagged lines and messages themselves can be: tracebacks, aborts, summary blocks.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from k3logs import paths
from k3logs.errors import AuthorError
from k3logs.grammar.order import FOLDERS, KEYS, order

if TYPE_CHECKING:
    from lark import Lark

    from k3logs.grammar.automaton import Automaton
    from k3logs.grammar.line import Form

LAYOUT = 6
"""Raised when what the cache holds changes shape."""

_READ = ("*.toml", "*.lark", "envelopes/*", "dialects/*")
"""Files that a bundle is made of."""


@dataclass(slots=True)
class FormSet:
    """The forms of one folder in the order in which they are tried, their headers as one automaton, and each grammar's Lark tables, packed."""

    forms: tuple[Form, ...]
    packed: dict[str, bytes]
    automaton: Automaton
    _larks: dict[str, Lark] = field(default_factory=dict)

    def parse(self, grammar: str, line: str) -> dict[str, str] | None:
        """Read one line with Lark; None where it is not of this grammar."""
        from lark.exceptions import UnexpectedInput

        from k3logs.grammar.tree import read_tree

        lark = self._larks.get(grammar)
        if lark is None:
            from lark import Lark

            lark = self._larks[grammar] = Lark.load(BytesIO(self.packed[grammar]))
        try:
            return read_tree(lark.parse(line))
        except UnexpectedInput:
            return None


@dataclass(slots=True)
class Bundle:
    """The compiled grammars of an installation plus those of the user's folders."""

    envelopes: FormSet
    dialects: FormSet
    texts: FormSet


def load(extra: Sequence[Path] = ()) -> Bundle:
    """Compile the shipped grammars and those in ``extra`` folders, or take them from the cache.

    Raises:
        AuthorError: a grammar is wrong, or one of its samples is not read as it says.
    """
    folders = [paths.data_folder("grammars"), *extra]
    digest = hashlib.sha1(f"{LAYOUT}".encode(), usedforsecurity=False)
    for file in (file for folder in folders for kind in _READ for file in sorted(folder.glob(kind))):
        digest.update(f"{file.parent.name}/{file.name}\0".encode() + file.read_bytes() + b"\0")
    cache = paths.cache_folder() / f"grammars-{digest.hexdigest()[:20]}.pickle"
    try:
        with cache.open("rb") as stored:
            bundle = pickle.load(stored)  # our own file, in the user's own cache folder
        if isinstance(bundle, Bundle):
            return bundle
    except (OSError, pickle.PickleError, EOFError, AttributeError, ImportError, ValueError):
        pass
    tried = order(folders)
    bundle = Bundle(*(_compile(folders, FOLDERS[key], tried[key]) for key in KEYS))
    store(cache, bundle)
    return bundle


def store(path: Path, value: object) -> None:
    """Write a cache file in one step; a folder that cannot be written is no error."""
    paths.keep(path, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def _compile(folders: Sequence[Path], kind: str, names: Sequence[str]) -> FormSet:
    from k3logs.grammar.automaton import compile_forms
    from k3logs.grammar.samples import check

    files = {file.stem: file for root in folders for file in (root / kind).glob("*.lark")}
    forms: list[Form] = []
    packed: dict[str, bytes] = {}
    for name in names:
        grammar = check(files[name], folders[0])
        forms += grammar.forms
        out = BytesIO()
        grammar.lark.save(out)
        packed[name] = out.getvalue()
    try:
        automaton = compile_forms(forms)
    except ValueError as error:
        raise AuthorError(folders[-1], 0, str(error), "see grammars/terminals.lark for what a line grammar may be") from error
    return FormSet(tuple(forms), packed, automaton)
