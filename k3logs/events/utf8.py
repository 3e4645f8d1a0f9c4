"""Bytes that are not UTF-8, overwritten in place: a log is read whatever is in it, and offsets stay true."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]

_TILE = 1 << 16
_QUESTION = ord("?")
_LONGEST = 4
_ASCII = 0x80

# What a byte can be: how many bytes a sequence has that it begins; 0 for one that goes on with a sequence or can stand nowhere.
_LENGTH = np.zeros(256, np.uint8)
_LENGTH[:0x80] = 1
_LENGTH[0xC2:0xE0], _LENGTH[0xE0:0xF0], _LENGTH[0xF0:0xF5] = 2, 3, 4
# Which second bytes go on with a first one (Unicode, table 3-7): not too short a sequence, no surrogate, not beyond U+10FFFF.
_LEAST, _MOST = np.full(256, 0x80, np.uint8), np.full(256, 0xBF, np.uint8)
_LEAST[0xE0], _LEAST[0xF0], _MOST[0xED], _MOST[0xF4] = 0xA0, 0x90, 0x9F, 0x8F


def repair_utf8(buffer: Bytes, size: int) -> int:
    """Overwrite each byte of ``buffer[:size]`` that is not UTF-8 with ``?``, in place.

    Returns:
        the number of bad spans: as many replacement characters as a decoder would put.
    """
    if _is_utf8(buffer, size):
        return 0
    low, bad = 0, 0
    while low < size:
        high = _edge(buffer, low + _TILE, size)
        bad += _repair(buffer[low:high])
        low = high
    return bad


def _edge(buffer: Bytes, place: int, size: int) -> int:
    """The end of a piece at ``place`` or a little before it: no sequence goes on behind it."""
    if place >= size:
        return size
    return next((at for at in range(place, place - _LONGEST, -1) if buffer[at] & 0xC0 != 0x80), place)


def _repair(buffer: Bytes) -> int:
    """Overwrite what is bad in a piece of text."""
    if buffer.max() < _ASCII:
        return 0
    beyond = np.flatnonzero(buffer >= _ASCII)
    byte = buffer[beyond]
    length = _LENGTH[byte]
    right = (length > 0).astype(np.uint8)  # bytes of the sequence that begins here which are as they should be; they stand beside it in `byte`, too
    for step in range(1, _LONGEST):
        first = np.flatnonzero((length > step) & (right == step))
        first = first[first + step < len(byte)]
        lead, follows = byte[first], byte[first + step]
        fits = beyond[first + step] == beyond[first] + step
        fits &= (follows & 0xC0 == 0x80) & ((follows >= _LEAST[lead]) & (follows <= _MOST[lead]) if step == 1 else True)
        right[first[fits]] += 1
    good, opens = np.zeros(len(byte), np.bool_), np.ones(len(byte), np.bool_)
    for step in range(_LONGEST):
        inside = np.flatnonzero(right > step)
        good[inside[right[inside] == length[inside]] + step] = True
        if step:
            opens[inside + step] = False
    buffer[beyond[~good]] = _QUESTION
    return int(np.count_nonzero(opens & ~good))


def _is_utf8(buffer: Bytes, size: int) -> bool:
    edges = pa.py_buffer(np.array([0, size], np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, edges, pa.py_buffer(buffer)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
