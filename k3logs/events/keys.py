"""Numbers for pieces of text, by their place in a buffer: equal text, equal number, over all chunks of a log.

A piece is hashed where it stands, eight bytes at a time and a column of pieces at once, and its hash looked up in an open
table. Hashes have 64 bits and a secret of this process in them, so that two texts that differ do not meet.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from k3logs.events.lines import Bytes, Ints, windows

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

_WIDTH = 64
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_SALT = np.array([secrets.randbits(64) | 1 for _ in range(_WIDTH // 8)], np.uint64)

_MASKS = np.zeros((_WIDTH + 1, _WIDTH), np.uint8)
for _n in range(_WIDTH + 1):
    _MASKS[_n, :_n] = 255
_MASKED = {width: _MASKS[: width + 1, :width].copy().view(f"V{width}").ravel() for width in (8, 16, 32, 64)}
"""``_MASKED[width][n]`` keeps the first ``n`` of ``width`` bytes."""

_PART = 4096
"""Pieces hashed at a time, so that the work stays in the processor's cache."""


def mixed(values: Hashes) -> Hashes:
    """Spread the bits of whole numbers over all 64."""
    values = values * _FIRST
    values ^= values >> _HALF
    values *= _SECOND
    values ^= values >> _HALF
    return values


def hashed(buffer: Bytes, start: Places | Ints, size: Places | Ints, alike: bool = False) -> Hashes:
    """Hashes of ``buffer[start[i] : start[i] + size[i]]``; 64 bytes behind the last start must exist.

    Args:
        alike: texts that differ only in what their digits are get one hash.
    """
    start = start.astype(np.int64, copy=False)
    found = np.empty(len(start), np.uint64)
    for low in range(0, len(start), _PART):
        part = slice(low, low + _PART)
        found[part] = _hashed(buffer, start[part], size[part], alike)
    done = _WIDTH
    longer = np.flatnonzero(size > done)
    while len(longer):
        for low in range(0, len(longer), _PART):
            some = longer[low : low + _PART]
            found[some] = mixed(found[some] ^ _hashed(buffer, start[some] + done, size[some] - done, alike))
        done += _WIDTH
        longer = longer[size[longer] > done]
    return found


def _hashed(buffer: Bytes, start: Places, size: Places | Ints, alike: bool) -> Hashes:
    longest = int(size.max())
    width = next((w for w in (8, 16, 32) if longest <= w), _WIDTH)
    words = windows(buffer, start, width).view(np.uint64)
    words &= _MASKED[width][np.minimum(size, width)].view(np.uint64).reshape(words.shape)
    if alike:
        words &= _no_digit(words)
    words *= _SALT[: width // 8]  # nothing stays nothing, so how wide a piece is read makes no difference
    words ^= words >> _HALF
    words *= _SECOND
    return mixed(words.sum(axis=1, dtype=np.uint64) ^ size.astype(np.uint64))


_ZEROS, _LOW, _OVER_NINE, _HIGH = (np.uint64(int(byte * 8, 16)) for byte in ("30", "7f", "76", "80"))
_SEVEN, _WHOLE = np.uint64(7), np.uint64(255)


def _no_digit(words: Hashes) -> Hashes:
    """255 in each byte that is no digit, 0 in the others, for eight bytes at a time."""
    beyond = words ^ _ZEROS  # a digit is now 0 .. 9
    flags = beyond & _LOW
    flags += _OVER_NINE
    flags |= beyond
    flags &= _HIGH
    flags >>= _SEVEN
    flags *= _WHOLE
    return flags


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
