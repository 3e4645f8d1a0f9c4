"""How many lines that say the same but for numbers are kept of one process."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.headers import Codes, Header
from k3logs.events.keys import Hashes, Numbers, hashes_of, mixed
from k3logs.events.lines import from_series
from k3logs.events.rows import Mask, Places, Rows

Counts = npt.NDArray[np.int64]

KEEP_FAILURES = 48
"""Failure lines alike that are kept of one process."""

KEEP_NEAR = 6
"""Failure lines alike whose neighbours are kept with them."""

KEEP_FACTS = 8
"""Other lines alike that are kept of one process: enough for the communicators that it opens."""

KEEP_UNTOLD = 64
"""Other lines alike that are kept where nothing tells the processes apart that print them."""

LONG, KEEP_LONG = 2_000, 2
"""Bytes of a long line, and how many of those that are alike are kept: a configuration is printed once or twice."""

_NOT_WHO = frozenset({"level", "func", "cuda_dev", "facility", "severity", "logger", "partial", "stream", "tid"})
"""Header fields that differ between lines of one process."""

_NO_HEX = np.arange(256, dtype=np.uint8)
_NO_HEX[list(b"0123456789abcdef")] = 0
"""Bytes as they are, but for digits and the letters of numbers to the base of sixteen."""

_MOST = 300_000
_LETTERS = 300
_NUMBERS = r"0x[0-9a-f]+|[0-9a-f]*[0-9][0-9a-f]*|:[a-f]{2}:"


class Alike:
    """Counts lines alike over a log and says which are few enough to be kept."""

    def __init__(self) -> None:
        self._who: dict[tuple[tuple[str, str], ...], int] = {}
        self._group = np.zeros(0, np.int32)
        self._numbers = Numbers()
        self._offered = np.zeros(1024, np.int64)
        self._seen: dict[int, int] = {}

    def learn(self, known: list[Header]) -> None:
        """Take in headers that were not known yet."""
        fresh = known[len(self._group) :]
        if fresh:
            who = [tuple(sorted((k, v) for k, v in header.fields.items() if k not in _NOT_WHO)) for header in fresh]
            self._group = np.concatenate([self._group, np.array([self._who.setdefault(w, len(self._who)) if w else -1 for w in who], np.int32)])

    def admit(self, rows: Rows, which: Places, failure: Mask, keys: Hashes) -> tuple[Mask, Mask]:
        """Which of the rows ``which`` are kept, and which are among the first :data:`KEEP_NEAR` of their kind.

        Args:
            failure: for each of ``which``, whether it is a failure line.
            keys: for each of ``which``, a hash that is the same for messages with other digits.
        """
        group = self._group[rows.header[which]]
        limit = np.where(failure, KEEP_FAILURES, np.where(group < 0, KEEP_UNTOLD, KEEP_FACTS))
        limit[rows.sizes(which) > LONG] = KEEP_LONG
        who = mixed((group + 2).astype(np.uint64))
        good = self._quickly(keys ^ who, limit)
        rest = np.flatnonzero(good)
        if len(rest):
            letters = from_series(rows.messages(which[rest]).str.slice(0, _LETTERS), np.zeros(len(rest), np.int32))
            letters.buffer[:] = _NO_HEX[letters.buffer]
            good[rest] = self._quickly(hashes_of(letters.text()) ^ who[rest], limit[rest])
            rest = rest[good[rest]]
        near = np.zeros(len(which), np.bool_)
        if len(rest):
            turn = self._turns(group[rest], rows.messages(which[rest]))
            good[rest] = turn < limit[rest]
            near[rest] = turn < KEEP_NEAR
        return good, near

    def _quickly(self, keys: Hashes, limit: Counts) -> Mask:
        """Turn away what has been offered often enough, by its hash alone."""
        numbers = self._numbers.find(keys)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown) and len(self._numbers) < _MOST:
            fresh = np.unique(keys[unknown])
            self._numbers.add(fresh, np.arange(len(self._numbers), len(self._numbers) + len(fresh)))
            numbers[unknown] = self._numbers.find(keys[unknown])
        if len(self._numbers) > len(self._offered):
            self._offered = np.concatenate([self._offered, np.zeros(len(self._numbers), np.int64)])
        good: Mask = (numbers < 0) | (self._offered[numbers] < limit)
        counted = numbers[good & (numbers >= 0)]
        if len(counted):
            count = np.bincount(counted)
            self._offered[: len(count)] += count
        return good

    def _turns(self, group: Codes, messages: pl.Series) -> Counts:
        """How many lines alike came before each, by what the text says without its numbers, however long they are."""
        masked = messages.str.slice(0, _LETTERS).str.replace_all(_NUMBERS, "#").hash()
        frame = pl.DataFrame({"alike": masked ^ pl.Series(mixed((group + 2).astype(np.uint64)))})
        frame = frame.with_columns(pl.int_range(pl.len()).over("alike").alias("turn"))
        before = np.array([self._seen.get(key, 0) for key in frame["alike"].to_list()], np.int64)
        for key, count in frame.group_by("alike").len().iter_rows():
            self._seen[key] = self._seen.get(key, 0) + count
        turns: Counts = before + frame["turn"].to_numpy()
        return turns
