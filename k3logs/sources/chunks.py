"""A byte stream in chunks that end in a newline, so that any size of log needs the same memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from k3logs.events.lines import PAD

CHUNK = 16 << 20
"""Bytes read at a time: smaller chunks pay Python for each, larger ones miss the cache."""

MAX_LINE = 64 << 20
"""A line longer than this is cut, as if it ended here."""

MANY = 300_000
"""Lines that come at a time, more or less: each costs memory of its own, and some logs have very short ones."""

_SAMPLE = 1 << 16


def chunks(stream: BinaryIO, size: int = CHUNK, first: int = 0) -> Iterator[tuple[bytearray, int, bool]]:
    """Read a stream to its end.

    Args:
        size: bytes to read at a time.
        first: size of the first chunk (a pipe's first lines arrive sooner in a small one).

    Yields:
        ``(data, used, forced)``: ``data[:used]`` ends in a newline, and :data:`PAD` bytes follow; ``forced`` where that
        newline stands for the cut in an over-long line, not for one in the log.
    """
    rest = b""
    want = first or size
    while True:
        data = bytearray(len(rest) + want + 1 + PAD)
        data[: len(rest)] = rest
        end = len(rest)
        full = end + want
        view = memoryview(data)
        got = 1
        while end < full and got:
            got = stream.readinto(view[end:full]) or 0  # type: ignore[attr-defined]
            end += got
        view.release()
        if not got:
            if end and data[end - 1] != 10:
                data[end] = 10
                end += 1
            if end:
                yield from _fewer(data, end)
            return
        cut = data.rfind(b"\n", 0, end) + 1
        if cut:
            rest = bytes(data[cut:end])
            yield from _fewer(data, cut)
            want = size
        elif end >= MAX_LINE:
            data[end] = 10
            rest = b""
            yield data, end + 1, True
            want = size
        else:
            rest = bytes(data[:end])
            want = max(size, end)


def _fewer(data: bytearray, end: int) -> Iterator[tuple[bytearray, int, bool]]:
    """A chunk, or where it has far more lines than :data:`MANY` several; how many it has is told from three places of it."""
    places = (0, max(0, end // 2 - _SAMPLE), max(0, end - _SAMPLE))
    lines = max(data.count(b"\n", place, min(place + _SAMPLE, end)) for place in places) * end // min(end, _SAMPLE)
    pieces = 1 + lines // MANY
    place = 0
    for n in range(1, pieces):
        cut = data.rfind(b"\n", place, end * n // pieces) + 1
        if cut > place:
            piece = data[place:cut]
            piece += bytes(PAD)
            yield piece, cut - place, False
            place = cut
    yield (data, end, False) if not place else (data[place:], end - place, False)
