"""Which lines triage keeps: one pass of one regex over every line, two more over the few that it hits."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs import paths
from k3logs.errors import AuthorError

Mask = npt.NDArray[np.bool_]

BEFORE, AFTER = 2, 6
"""Neighbours of a failure line that are kept with it: context for the reader, and the rest of its message."""

_SPECIAL = set(r"\.+*?()|[]{}^$#&-~")


def alternation(literals: Iterable[str]) -> str:
    """A Rust regex that finds any of the texts; quotes are found escaped (inside JSON) too."""
    wanted = set(literals)
    wanted |= {text.replace('"', '\\"') for text in wanted if '"' in text}
    return "|".join("".join("\\" + c if c in _SPECIAL else c for c in text) for text in sorted(wanted)) or r"\z."


class Gates:
    """The literals of ``grammars/gates.toml`` with those that signatures, phase marks and message grammars bring.

    Args:
        failure: further literals after which neighbours are kept too.
        fact: further literals of lines that are kept alone.
    """

    def __init__(self, failure: Iterable[str] = (), fact: Iterable[str] = (), file: Path | None = None) -> None:
        file = file or paths.data_folder("grammars") / "gates.toml"
        try:
            own = tomllib.loads(file.read_text())
            lists = {name: [str(t) for t in own[name]] for name in ("failure", "body", "fact")}
        except (tomllib.TOMLDecodeError, KeyError) as error:
            raise AuthorError(file, 0, f"not a list of gates: {error}", "write failure, body and fact, each a list of texts") from error
        hot = set(lists["failure"]) | set(failure)
        self._any = alternation(hot | set(lists["body"]) | set(lists["fact"]) | set(fact))
        self._hot = alternation(hot)

    def of(self, text: pl.Series) -> tuple[Mask, Mask]:
        """``(kept, hot)`` for each line: worth keeping, and worth keeping its neighbours for."""
        kept = text.str.contains(self._any).to_numpy()
        hot = np.zeros(len(text), np.bool_)
        places = np.flatnonzero(kept)
        if len(places):
            hot[places] = text[places].str.contains(self._hot).to_numpy()
        return kept.copy(), hot


def with_neighbours(kept: Mask, hot: Mask) -> Mask:
    """Add the lines around hot ones."""
    wide = kept | hot
    for step in range(1, AFTER + 1):
        wide[step:] |= hot[:-step]
        if step <= BEFORE:
            wide[:-step] |= hot[step:]
    return wide
