"""Which rows of a chunk are pieces of lines that the container runtime cut, and the rows that these make together."""

from __future__ import annotations

import numpy as np
import polars as pl

from k3logs.events.headers import Headers
from k3logs.events.partials import First, Joiner, Whole
from k3logs.events.reading import Reading
from k3logs.events.rows import Places, Rows

_CUT, _LAST = 1, 2
_PIECE = {"P": _CUT, "F": _LAST}
_STREAM = ("node", "namespace", "pod", "container", "stream")


class Joining:
    """Joins the pieces of one source's lines, over all its chunks."""

    def __init__(self, headers: Headers) -> None:
        self._headers = headers
        self._joiner = Joiner()
        self._piece = np.zeros(0, np.uint8)
        self._stream = np.zeros(0, np.int32)
        self._streams: dict[tuple[str, ...], int] = {}
        self._before = 0

    def concerned(self, rows: Rows) -> Places:
        """Rows that are pieces of a line of several, in rising order."""
        self._learn()
        piece = self._piece[rows.header]
        waiting = self._joiner.waiting
        if not waiting and not (piece == _CUT).any():
            return np.zeros(0, np.int64)
        among = np.flatnonzero(piece)
        among = among[np.argsort(self._stream[rows.header[among]], kind="stable")]
        stream = self._stream[rows.header[among]]
        opens = piece[among] == _CUT
        same = np.zeros(len(among), np.bool_)
        same[1:] = stream[1:] == stream[:-1]
        follows = np.zeros(len(among), np.bool_)
        follows[1:] = opens[:-1] & same[1:]
        if waiting:
            follows |= ~same & np.isin(stream, waiting)
        return np.sort(among[opens | follows])

    def join(self, reading: Reading, concerned: Places) -> None:
        """Put pieces together; the whole line takes the row of its last piece."""
        rows = reading.rows
        texts, raws = rows.messages(concerned).to_list(), rows.raws(concerned).to_list()
        wanted = np.zeros(len(rows), np.bool_)
        wanted[concerned] = True
        rows.read_times(wanted)
        finished: dict[int, str] = {}
        for row, text, raw in zip(concerned.tolist(), texts, raws, strict=True):
            header = int(rows.header[row])
            first = First(self._before + int(rows.number[row]), int(rows.part[row]), header, raw, int(rows.envelope_time[row]))
            whole = self._joiner.add(int(self._stream[header]), first, text, bool(self._piece[header] == _LAST))
            if whole is None:
                rows.dropped[row] = True
                continue
            self._place(rows, row, whole)
            finished[row] = whole.text
        rows.take_stamps(finished)
        if finished:
            reading.derive([(np.array(list(finished), np.int64), pl.Series(list(finished.values())))])

    def passed(self, newlines: int) -> None:
        """A chunk of so many lines is read."""
        self._before += newlines

    def rest(self) -> list[Whole]:
        """At the end of the source: lines whose last piece never came."""
        return self._joiner.rest()

    def place_rest(self, rows: Rows, rest: list[Whole]) -> None:
        """Rows for them, one each."""
        for row, whole in enumerate(rest):
            self._place(rows, row, whole)
        rows.take_stamps(range(len(rest)))

    def _place(self, rows: Rows, row: int, whole: Whole) -> None:
        first = whole.first
        rows.take_place(row, first.line - self._before, first.part, first.header, first.raw, first.envelope_time)

    def _learn(self) -> None:
        fresh = self._headers.known[len(self._piece) :]
        if fresh:
            piece = [_PIECE.get(header.fields.get("partial", ""), 0) for header in fresh]
            stream = [self._streams.setdefault(tuple(header.fields.get(name, "") for name in _STREAM), len(self._streams)) if cut else 0
                      for header, cut in zip(fresh, piece, strict=True)]  # fmt: skip
            self._piece = np.concatenate([self._piece, np.array(piece, np.uint8)])
            self._stream = np.concatenate([self._stream, np.array(stream, np.int32)])
