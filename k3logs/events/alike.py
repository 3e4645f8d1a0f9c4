"""How many lines that say the same but for numbers are kept of one process."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.headers import Codes, Header
from k3logs.events.keys import Hashes, Numbers, mixed
from k3logs.events.rows import Places, Rows

Mask = npt.NDArray[np.bool_]

KEEP_FAILURES = 48
"""Failure lines alike that are kept of one process."""

KEEP_FACTS = 12
"""Other lines alike that are kept of one process: enough for the communicators that it opens."""

KEEP_UNTOLD = 64
"""Other lines alike that are kept where nothing tells the processes apart that print them."""

_NOT_WHO = frozenset({"level", "func", "cuda_dev", "facility", "severity", "logger", "partial", "stream", "tid"})
"""Header fields that differ between lines of one process."""

_MOST = 300_000
_LETTERS = 300
_NUMBERS = r"0x[0-9a-f]+|(?-u:\b)[0-9a-f]*[0-9][0-9a-f]*(?-u:\b)|[0-9]+"


class Alike:
    """Counts lines alike over a log and says which are few enough to be kept."""

    def __init__(self) -> None:
        self._who: dict[tuple[tuple[str, str], ...], int] = {}
        self._group = np.zeros(0, np.int32)
        self._numbers = Numbers()
        self._offered = np.zeros(1024, np.int32)
        self._seen: dict[int, int] = {}

    def learn(self, known: list[Header]) -> None:
        """Take in headers that were not known yet."""
        fresh = known[len(self._group) :]
        if fresh:
            who = [tuple(sorted((k, v) for k, v in header.fields.items() if k not in _NOT_WHO)) for header in fresh]
            self._group = np.concatenate([self._group, np.array([self._who.setdefault(w, len(self._who)) if w else -1 for w in who], np.int32)])

    def admit(self, header: Codes, keys: Hashes, failure: Mask, rows: Rows, which: Places) -> Mask:
        """Which of the lines are kept: rows ``which`` of a chunk, of which the first three say more.

        Args:
            keys: hashes that are the same for messages with other digits.
        """
        group = self._group[header]
        limit = np.where(failure, KEEP_FAILURES, np.where(group < 0, KEEP_UNTOLD, KEEP_FACTS))
        good = self._quickly(keys ^ mixed((group + 2).astype(np.uint64)), limit)
        rest = np.flatnonzero(good)
        if len(rest):
            good[rest] = self._by_text(group[rest], limit[rest], rows.messages(which[rest]))
        return good

    def _quickly(self, keys: Hashes, limit: npt.NDArray[np.int64]) -> Mask:
        """Turn away what has been offered often enough, by its hash alone."""
        numbers = self._numbers.find(keys)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown) and len(self._numbers) < _MOST:
            fresh = np.unique(keys[unknown])
            self._numbers.add(fresh, range(len(self._numbers), len(self._numbers) + len(fresh)))
            numbers[unknown] = self._numbers.find(keys[unknown])
        if len(self._numbers) > len(self._offered):
            self._offered = np.concatenate([self._offered, np.zeros(len(self._numbers), np.int32)])
        good: Mask = (numbers < 0) | (self._offered[numbers] < limit)
        counted = numbers[good & (numbers >= 0)]
        if len(counted):
            count = np.bincount(counted)
            self._offered[: len(count)] += count.astype(np.int32)
        return good

    def _by_text(self, group: Codes, limit: npt.NDArray[np.int64], messages: pl.Series) -> Mask:
        """The same by what the text says without its numbers, however long they are."""
        masked = messages.str.slice(0, _LETTERS).str.replace_all(_NUMBERS, "#").hash()
        frame = pl.DataFrame({"alike": masked ^ pl.Series(mixed((group + 2).astype(np.uint64)))})
        frame = frame.with_columns(pl.int_range(pl.len()).over("alike").alias("turn"))
        before = np.array([self._seen.get(key, 0) for key in frame["alike"].to_list()], np.int64)
        for key, count in frame.group_by("alike").len().iter_rows():
            self._seen[key] = self._seen.get(key, 0) + count
        good: Mask = before + frame["turn"].to_numpy() < limit
        return good
