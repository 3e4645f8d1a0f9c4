"""Numbers for pieces of text, by their place in a buffer: equal text, equal number, over all chunks of a log.

A piece is hashed where it stands and its hash looked up in an open table, a column of pieces at once. Hashes have 64 bits and a
secret of this process in them, so that two texts that differ do not meet.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.lines import Ints, Lines, views

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

_SEED = secrets.randbits(63)
_FIRST, _SECOND = np.uint64(secrets.randbits(64) | 1), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def mixed(values: Hashes) -> Hashes:
    """Spread the bits of whole numbers over all 64; different numbers stay different, and 0 stays 0."""
    values = values * _FIRST
    values ^= values >> _HALF
    values *= _SECOND
    values ^= values >> _HALF
    return values


def hashed(lines: Lines, start: Places | Ints, size: Places | Ints, alike: bool = False) -> Hashes:
    """Hashes of the pieces ``start[i] : start[i] + size[i]`` of the lines' buffer.

    Args:
        alike: pieces that differ only in what their digits are get one hash.
    """
    buffer, owner = lines.undigited if alike else (lines.buffer, lines.owner)
    return hashes_of(views(buffer, owner, start.astype(np.int32, copy=False), size.astype(np.int32, copy=False), text=False))


def hashes_of(texts: pl.Series) -> Hashes:
    """Hashes of texts."""
    found: Hashes = texts.to_frame().hash_rows(_SEED).to_numpy()  # at once, where Series.hash() makes a query
    return found


class Numbers:
    """Hash -> number, both given by the caller."""

    def __init__(self) -> None:
        self._bits = 10
        self._keys = np.zeros(1 << self._bits, np.uint64)
        self._values = np.zeros(1 << self._bits, np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, keys: Hashes) -> npt.NDArray[np.int32]:
        """The number of each key, -1 where it has none."""
        place = (keys >> np.uint64(64 - self._bits)).astype(np.int64)
        stored = self._keys[place]
        found = self._values[place]
        wrong = np.flatnonzero(stored != keys)
        while len(wrong):
            empty = stored[wrong] == 0
            found[wrong[empty]] = -1
            wrong = wrong[~empty]
            place[wrong] = (place[wrong] + 1) & ((1 << self._bits) - 1)
            stored[wrong] = self._keys[place[wrong]]
            found[wrong] = self._values[place[wrong]]
            wrong = wrong[stored[wrong] != keys[wrong]]
        return found

    def add(self, keys: Hashes, values: Sequence[int] | npt.NDArray[np.integer]) -> None:
        """Give numbers to keys that have none; no key stands there twice."""
        while (self._count + len(keys)) * 4 > len(self._keys):
            self._grow()
        self._put(keys, np.asarray(values, np.int32))
        self._count += len(keys)

    def _put(self, keys: Hashes, values: npt.NDArray[np.int32]) -> None:
        place = (keys >> np.uint64(64 - self._bits)).astype(np.int64)
        while len(keys):
            free = self._keys[place] == 0
            self._keys[place[free]] = keys[free]  # of several that want one place the last one has it
            self._values[place[free]] = values[free]
            left = self._keys[place] != keys
            keys, values = keys[left], values[left]
            place = (place[left] + 1) & ((1 << self._bits) - 1)

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        self._bits += 2
        self._keys = np.zeros(1 << self._bits, np.uint64)
        self._values = np.zeros(1 << self._bits, np.int32)
        used = np.flatnonzero(keys)
        self._put(keys[used], values[used])


class Remembered:
    """Hash -> small number, of the last ones that were put in; forgets some when it is full."""

    def __init__(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self._keys = np.zeros(1 << bits, np.uint64)
        self._values = np.zeros(1 << bits, np.int16)

    def find(self, keys: Hashes) -> npt.NDArray[np.int16]:
        """The number of each key, -1 where it is not remembered."""
        place = (keys >> self._shift).astype(np.int64)
        return np.where(self._keys[place] == keys, self._values[place], np.int16(-1))

    def put(self, keys: Hashes, values: npt.NDArray[np.integer]) -> None:
        """Remember the number of each key."""
        place = (keys >> self._shift).astype(np.int64)
        self._keys[place] = keys
        self._values[place] = values
        # of several keys with one place the last one is there, and numpy writes both columns in the same order
