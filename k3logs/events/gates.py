"""Which lines triage keeps: one regex over every kind of line, one more over the few that it hits.

Most lines of a log are like one before but for numbers. The answer for a line is remembered by what it says without its
digits, so that the regex, and with it nearly all that gating costs, runs once for lines that are alike.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs import paths
from k3logs.errors import AuthorError
from k3logs.events.keys import Hashes, hashed
from k3logs.events.lines import Lines
from k3logs.events.rows import Rows

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

BEFORE, AFTER = 2, 6
"""Neighbours of a failure line that are kept with it: context for the reader, and the rest of its message."""

_SPECIAL = set(r"\.+*?()|[]{}^$#&-~")
_DIGITS = frozenset("0123456789")
_REMEMBERED = 18
"""Bits: how many answers are remembered."""

_LONGEST = 1024
"""Bytes; the answer for a longer line is not remembered."""

_KEPT, _HOT = 1, 2


def alternation(literals: Iterable[str]) -> str:
    """A Rust regex that finds any of the texts, with any digit where a text has one; quotes are found escaped (inside JSON) too."""
    wanted = set(literals)
    wanted |= {text.replace('"', '\\"') for text in wanted if '"' in text}
    shortest: list[str] = []
    for text in sorted(wanted, key=lambda t: (len(t), t)):
        if not any(short in text for short in shortest):
            shortest.append(text)
    return "|".join(sorted("".join("[0-9]" if c in _DIGITS else "\\" + c if c in _SPECIAL else c for c in text) for text in shortest)) or r"\z."


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
        self._keys = np.zeros(1 << _REMEMBERED, np.uint64)
        self._answers = np.zeros(1 << _REMEMBERED, np.uint8)

    def of(self, text: pl.Series) -> tuple[Mask, Mask]:
        """``(kept, hot)`` for each text: worth keeping, and worth keeping its neighbours for."""
        answers = self._search(text)
        return answers != 0, answers == _KEPT + _HOT

    def of_rows(self, rows: Rows) -> tuple[Mask, Mask, Hashes]:
        """``(kept, hot)`` for the message of each row, and a hash of each that is the same for messages with other digits."""
        answers = np.zeros(len(rows), np.uint8)
        keys = np.zeros(len(rows), np.uint64)
        for number, lines in enumerate(rows.blocks):
            among = np.flatnonzero(rows.block[lines.row] == number)
            row = lines.row[among]
            answers[row], keys[row] = self._of_lines(lines, among)
        return answers != 0, answers == _KEPT + _HOT, keys

    def _of_lines(self, lines: Lines, among: Places) -> tuple[npt.NDArray[np.uint8], Hashes]:
        start = lines.start[among]
        size = lines.end[among] - start
        keys = hashed(lines.buffer, start, np.minimum(size, _LONGEST), alike=True)
        place = (keys >> np.uint64(64 - _REMEMBERED)).astype(np.int64)
        answers = self._answers[place]
        unknown = np.flatnonzero((self._keys[place] != keys) | (size > _LONGEST))
        if len(unknown):
            found = self._search(lines.text(among[unknown]))
            answers[unknown] = found
            brief = size[unknown] <= _LONGEST
            at = place[unknown[brief]]
            self._keys[at], self._answers[at] = keys[unknown[brief]], found[brief]
        return answers, keys

    def _search(self, text: pl.Series) -> npt.NDArray[np.uint8]:
        answers = text.str.contains(self._any).to_numpy().astype(np.uint8)
        places = np.flatnonzero(answers)
        if len(places):
            answers[places] += _HOT * text.gather(places).str.contains(self._hot).to_numpy().astype(np.uint8)
        return answers


def with_neighbours(kept: Mask, hot: Mask) -> Mask:
    """Add the lines around hot ones."""
    wide = kept | hot
    for step in range(1, AFTER + 1):
        wide[step:] |= hot[:-step]
        if step <= BEFORE:
            wide[:-step] |= hot[step:]
    return wide
