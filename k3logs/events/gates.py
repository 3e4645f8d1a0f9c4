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
from k3logs.events.keys import Hashes, Remembered, hashed
from k3logs.events.lines import Ints, Lines, from_series, views
from k3logs.events.rows import Rows

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

BEFORE, AFTER = 2, 6
"""Neighbours of a failure line that are kept with it: context for the reader, and the rest of its message."""

_SPECIAL = set(r"\.+*?()|[]{}^$#&-~")
_DIGITS = str.maketrans(dict.fromkeys("0123456789", "\0"))
_REMEMBERED = 18
"""Bits: how many answers are remembered."""

_LONGEST = 1024
"""Bytes; the answer for a longer line is not remembered."""

KEPT, HOT, ODD = 1, 2, 4
"""Bits of an answer: worth keeping, worth keeping its neighbours for, may hold what is asked for beside."""


def alternation(literals: Iterable[str]) -> str:
    """A Rust regex that finds any of the texts where all digits are zero bytes; quotes are found escaped (inside JSON) too.

    It holds literals alone, which Rust searches ten times as fast as classes between them.
    """
    wanted = {text.translate(_DIGITS) for text in literals}
    wanted |= {text.replace('"', '\\"') for text in wanted if '"' in text}
    return "|".join(sorted("".join("\\" + c if c in _SPECIAL else c for c in text) for text in wanted)) or r"\z."


class Gates:
    """The literals of ``grammars/gates.toml`` with those that signatures, phase marks and message grammars bring.

    Args:
        failure: further literals after which neighbours are kept too.
        fact: further literals of lines that are kept alone.
        odd: a Rust regex that is asked beside, on texts whose digits are zero bytes.
    """

    def __init__(self, failure: Iterable[str] = (), fact: Iterable[str] = (), file: Path | None = None, odd: str = "") -> None:
        file = file or paths.data_folder("grammars") / "gates.toml"
        try:
            own = tomllib.loads(file.read_text())
            lists = {name: [str(t) for t in own[name]] for name in ("failure", "body", "fact")}
        except (tomllib.TOMLDecodeError, KeyError) as error:
            raise AuthorError(file, 0, f"not a list of gates: {error}", "write failure, body and fact, each a list of texts") from error
        hot = set(lists["failure"]) | set(failure)
        self._any = alternation(hot | set(lists["body"]) | set(lists["fact"]) | set(fact))
        self._hot = alternation(hot)
        self._odd = odd
        self._answers = Remembered(_REMEMBERED)

    def of(self, text: pl.Series) -> tuple[Mask, Mask]:
        """``(kept, hot)`` for each text: worth keeping, and worth keeping its neighbours for."""
        lines = from_series(text.fill_null(""), np.zeros(len(text), np.int32))
        answers = self._search(lines, lines.start, lines.end - lines.start)
        return answers & KEPT != 0, answers & HOT != 0

    def of_rows(self, rows: Rows) -> tuple[npt.NDArray[np.int16], Hashes]:
        """The answer for the message of each row, and a hash of each that is the same for messages with other digits."""
        answers = np.zeros(len(rows), np.int16)
        keys = np.zeros(len(rows), np.uint64)
        for number, lines in enumerate(rows.blocks):
            among = np.flatnonzero(rows.block[lines.row] == number) if len(rows.blocks) > 1 else slice(None)
            row = lines.row[among]
            answers[row], keys[row] = self._of_lines(lines, lines.start[among], lines.end[among])
        return answers, keys

    def _of_lines(self, lines: Lines, start: Ints, end: Ints) -> tuple[npt.NDArray[np.int16], Hashes]:
        size = end - start
        keys = hashed(lines, start, np.minimum(size, _LONGEST), alike=True)
        answers = self._answers.find(keys)
        answers[size > _LONGEST] = -1
        unknown = np.flatnonzero(answers < 0)
        if len(unknown):
            found = answers[unknown] = self._search(lines, start[unknown], size[unknown])
            brief = size[unknown] <= _LONGEST
            self._answers.put(keys[unknown[brief]], found[brief])
        return answers, keys

    def _search(self, lines: Lines, start: Ints, size: Ints) -> npt.NDArray[np.int16]:
        text = views(*lines.undigited, start, size)
        answers = text.str.contains(self._any).to_numpy().astype(np.int16)
        places = np.flatnonzero(answers)
        if len(places):
            answers[places] += HOT * text.gather(places).str.contains(self._hot).to_numpy().astype(np.int16)
        if self._odd:
            answers += ODD * text.str.contains(self._odd).to_numpy().astype(np.int16)
        return answers


def with_neighbours(kept: Mask, hot: Mask) -> Mask:
    """Add the lines around hot ones."""
    wide = kept | hot
    for step in range(1, AFTER + 1):
        wide[step:] |= hot[:-step]
        if step <= BEFORE:
            wide[:-step] |= hot[step:]
    return wide
