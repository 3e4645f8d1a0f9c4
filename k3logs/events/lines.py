"""A chunk of log as lines: one byte buffer, and where each line starts and ends in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from k3logs.events.utf8 import repair_utf8

Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

PAD = 64
"""Zero bytes that every buffer has behind its last line, so that a look ahead never leaves it."""

_TILE = 1 << 19
_INLINE = 12
_NEWLINE, _RETURN, _ESCAPE, _SPACE = 10, 13, 27, 32
_NOUGHT, _TEN = 48, 10
_TELLING = np.zeros(256, np.bool_)
_TELLING[[_NEWLINE, _RETURN, _ESCAPE]] = True


@dataclass(slots=True)
class Lines:
    """Lines ``start[i]:end[i]`` of ``buffer``; ``row[i]`` is the line's place in its chunk.

    The text is never copied: :meth:`text` gives polars views on the buffer. ``seen`` notes up to where a line was looked at to
    tell what its layers are.
    """

    buffer: Bytes
    owner: pa.Buffer
    start: Ints
    end: Ints
    row: Ints
    seen: Ints | None = None
    _undigited: tuple[Bytes, pa.Buffer] | None = None

    def __len__(self) -> int:
        return len(self.start)

    @property
    def undigited(self) -> tuple[Bytes, pa.Buffer]:
        """The buffer with every digit as a zero byte."""
        if self._undigited is None:
            found = np.empty_like(self.buffer)
            for low in range(0, len(found), _TILE):  # in steps that stay in the processor's cache
                part = self.buffer[low : low + _TILE]
                keep = (part - np.uint8(_NOUGHT) < _TEN).view(np.uint8)
                keep -= 1
                np.bitwise_and(part, keep, out=found[low : low + _TILE])
            self._undigited = found, pa.py_buffer(found)
        return self._undigited

    def text(self, which: npt.NDArray[Any] | None = None, length: int | None = None) -> pl.Series:
        """The lines as a polars String column, zero-copy.

        Args:
            which: indices of the lines wanted, all by default.
            length: at most so many bytes of each line (callers keep to ASCII regions or whole lines).
        """
        start, end = (self.start, self.end) if which is None else (self.start[which], self.end[which])
        size = end - start
        if length is not None:
            size = np.minimum(size, length)
        return views(self.buffer, self.owner, start, size)


def windows(buffer: Bytes, start: npt.NDArray[np.int64], width: int) -> Bytes:
    """The ``width`` bytes from each start on, one row each; ``buffer`` must have that many behind the last one."""
    rows: npt.NDArray[Any] = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, strides=(1,))
    return rows[start].view(np.uint8).reshape(len(start), width)


def views(buffer: Bytes, owner: pa.Buffer, start: Ints, size: Ints, text: bool = True) -> pl.Series:
    """Build an Arrow ``string_view`` array over a buffer: 16 bytes a string, short ones inlined.

    Unless ``text``, a ``binary_view`` without the first bytes that comparisons need: it is good for hashing alone.

    Layout: length, then 12 bytes of text, or the first 4 bytes, buffer number and offset (Arrow columnar format).
    """
    view = np.zeros((len(start), 4), np.int32)
    _fill(view, buffer, start, size, text)
    return _series(view, [owner], text)


def views_of(blocks: Sequence[tuple[Bytes, pa.Buffer]], block: npt.NDArray[np.integer], start: Ints, size: Ints) -> pl.Series:
    """:func:`views` over several buffers: string ``i`` stands in ``blocks[block[i]]``."""
    view = np.empty((len(start), 4), np.int32)
    others = np.flatnonzero(block)  # most stand in the first one
    first = start
    if len(others):
        first = start.copy()
        first[others] = 0
    view[:, 2] = 0
    _fill(view, blocks[0][0], first, size, text=True)
    for number in np.flatnonzero(np.bincount(block[others])).tolist():
        rows = others[block[others] == number]
        part = np.zeros((len(rows), 4), np.int32)
        part[:, 2] = number
        _fill(part, blocks[number][0], start[rows], size[rows], text=True)
        view[rows] = part
    return _series(view, [owner for _, owner in blocks], text=True)


def _fill(view: Ints, buffer: Bytes, start: Ints, size: Ints, text: bool) -> None:
    view[:, 0] = size
    view[:, 3] = start
    if text:
        words = np.ndarray((len(buffer) - 3,), "<i4", buffer, strides=(1,))
        view[:, 1] = words[start]
    short = np.flatnonzero(size <= _INLINE)
    if len(short):
        letters = windows(buffer, start[short].astype(np.int64), _INLINE)
        letters[np.arange(_INLINE) >= size[short][:, None]] = 0
        view[short, 1:] = letters.view("<i4")


def _series(view: Ints, owners: list[pa.Buffer], text: bool) -> pl.Series:
    array = pa.Array.from_buffers(pa.string_view() if text else pa.binary_view(), len(view), [None, pa.py_buffer(view), *owners])
    return pl.Series("text", array, dtype=pl.String if text else pl.Binary)


def from_series(text: pl.Series, row: Ints) -> Lines:
    """Lines of rewritten text (decoded JSON, colours removed) in a buffer of their own."""
    array = text.to_arrow().cast(pa.large_string())
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    low, high = int(places[0]), int(places[-1])
    copy = np.zeros(high - low + PAD, np.uint8)
    if data is not None:
        copy[: high - low] = np.frombuffer(data, np.uint8)[low:high]
    edges = (places - low).astype(np.int32)
    return Lines(copy, pa.py_buffer(copy), edges[:-1].copy(), edges[1:].copy(), row)


def exactly(stream: BinaryIO, size: int, lent: bool) -> Bytes:
    """The next ``size`` bytes of a log with :data:`PAD` behind them; they end in a newline, as when it was read for the first time.

    Args:
        lent: that newline does not stand in the log.

    Raises:
        OSError: there are not so many.
    """
    data = np.frombuffer(bytearray(size + PAD), np.uint8)
    end, stop, got = 0, size - lent, 1
    while end < stop and got:
        got = stream.readinto(data.data[end:stop]) or 0  # type: ignore[attr-defined]
        end += got
    if end < size - 1:
        raise OSError("it has become shorter")
    data[size - 1] = _NEWLINE  # the last line may have none of its own
    return data


@dataclass(slots=True)
class Cut:
    """A chunk cut into lines.

    Attributes:
        number: newlines in the chunk before each line.
        part: place among the pieces of one line that ``\\r`` (a progress bar) separates.
        escapes: places in the chunk of the byte that opens a colour sequence.
    """

    lines: Lines
    number: Ints
    part: npt.NDArray[np.int16]
    newlines: int
    repaired: int
    escapes: npt.NDArray[np.int64]


def _controls(buffer: Bytes) -> npt.NDArray[np.int64]:
    """Where control characters stand; of many only those that say something."""
    found: npt.NDArray[np.int64] = (buffer < _SPACE).nonzero()[0]
    return found[_TELLING[buffer[found]]] if len(found) > _TILE // 16 else found


def cut(chunk: bytearray, size: int) -> Cut:
    """Split ``chunk[:size]``, which ends in a newline, into lines.

    Trailing ``\\r`` of a line is left out; a ``\\r`` inside a line starts a new part of it.
    ``chunk`` has :data:`PAD` bytes behind ``size``.
    """
    buffer = np.frombuffer(chunk, np.uint8)
    repaired = repair_utf8(buffer, size)
    control = np.concatenate([_controls(buffer[low : min(low + _TILE, size)]) + low for low in range(0, max(size, 1), _TILE)])
    kind = buffer[control]
    breaks = kind == _NEWLINE
    returns = kind == _RETURN
    newlines = int(np.count_nonzero(breaks))
    escapes = control[kind == _ESCAPE]
    if not returns.any():
        end = control[breaks].astype(np.int32) if newlines < len(control) else control.astype(np.int32)
        start = np.empty_like(end)
        start[:1] = 0
        np.add(end[:-1], 1, out=start[1:])
        number = np.arange(newlines, dtype=np.int32)
        return Cut(Lines(buffer, pa.py_buffer(chunk), start, end, number), number, np.zeros(newlines, np.int16), newlines, repaired, escapes)
    ends = control[breaks | returns].astype(np.int32)
    # of several returns in a row, or some before a newline, only the last one ends a piece, and none of them belongs to it
    follows = np.diff(ends, prepend=np.int32(-2)) == 1
    run_start = ends[np.maximum.accumulate(np.where(follows & (buffer[ends - 1] == _RETURN), 0, np.arange(len(ends))))]
    last = np.ones(len(ends), np.bool_)
    last[:-1] = ~((buffer[ends[:-1]] == _RETURN) & follows[1:])
    end, close = run_start[last], ends[last]
    start = np.empty_like(close)
    start[:1] = 0
    start[1:] = close[:-1] + 1
    closes = buffer[close] == _NEWLINE
    number = (np.cumsum(closes) - closes).astype(np.int32)
    keep = closes | (end > start)
    start, end, number = start[keep], end[keep], number[keep]
    index = np.arange(len(number), dtype=np.int32)
    opens = np.ones(len(number), np.bool_)
    opens[1:] = number[1:] != number[:-1]
    part = (index - np.maximum.accumulate(np.where(opens, index, 0))).astype(np.int16)
    return Cut(Lines(buffer, pa.py_buffer(chunk), start, end, index), number, part, newlines, repaired, escapes)
