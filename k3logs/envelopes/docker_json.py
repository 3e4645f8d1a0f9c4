"""Docker's ``json-file`` driver: ``{"log":"...\\n","stream":"stderr","time":"2026-08-05T12:00:01.5Z"}``.

Written by moby ``daemon/logger/jsonfilelog``; keys stand in the order log, stream, attrs, time, without spaces. A line of
more than 16384 bytes comes in pieces of that size, all but the last without the closing ``\\n`` (``daemon/logger/copier.go``);
they are joined by ``k3logs.events.partials``. What a collector made of such a line is read by ``collected_json``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

OPENING = '{"log":"'
STREAMS = ("stdout", "stderr")
PIECE = 16_384
"""Bytes of a piece. A shorter line without ``\\n`` is the last that a process printed, or lost its ``\\n`` to a collector."""

_TAIL = r'","stream":"(?P<stream>stdout|stderr)"(?:,"attrs":\{[^}]*\})?,"time":"(?P<stamp>[^"]+)"\}$'
_TAIL_CHARACTERS = 400
"""A line's closing part is looked for in so many last characters."""

_TIME = b'"time":"'
_STREAM = b'","stream":"'
_LONGEST_STAMP, _SHORTEST_STAMP = 35, 20

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Split:
    """Where the parts of whole json-file lines stand: the escaped text ``start:end`` without its closing newline, and the stamp.

    Attributes:
        which: lines of this shape, as places in what was given; all others are of the lines ``which`` alone.
        stderr: the stream is stderr, else stdout.
    """

    which: Ints
    start: Ints
    end: Ints
    stamp: Ints
    stamp_size: Ints
    stderr: Mask


def read(lines: pl.Series) -> pl.DataFrame:
    """Split json-file lines.

    Returns:
        columns ``place`` (of the lines of this shape), ``body`` (still escaped), ``stream``, ``stamp`` (RFC 3339).
    """
    frame = pl.DataFrame({"line": lines}).with_row_index("place").filter(pl.col("line").str.starts_with(OPENING))
    frame = frame.with_columns(pl.col("line").str.slice(-_TAIL_CHARACTERS).str.extract_groups(_TAIL).alias("g")).unnest("g")
    return frame.filter(pl.col("stamp").is_not_null()).select(
        "place", pl.col("line").str.slice(len(OPENING)).str.replace(_TAIL, "").alias("body"), "stream", "stamp"
    )


def split(buffer: npt.NDArray[np.uint8], start: Ints, end: Ints) -> Split:
    """Find the parts of the lines ``buffer[start[i]:end[i]]``; lines of another shape, and pieces of a line, are left out."""
    words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
    which = np.flatnonzero((end - start >= 64) & (words[start] == _word(OPENING.encode())))
    which = which[(buffer[end[which] - 1] == ord("}")) & (buffer[end[which] - 2] == ord('"'))]
    stamp = np.zeros(len(which), np.int64)
    rest = np.arange(len(which))
    # Go writes stamps without trailing zeros: most have all nine digits, the others are found on the second and third try
    for size in (30, *range(29, _SHORTEST_STAMP - 1, -1), *range(31, _LONGEST_STAMP + 1)):
        if not len(rest):
            break
        at = end[which[rest]] - 2 - size
        found = words[at - len(_TIME)] == _word(_TIME)
        stamp[rest[found]] = at[found]
        rest = rest[~found]
    good = stamp > 0
    which, stamp = which[good], stamp[good]
    comma = stamp - len(_TIME) - 1
    tail = np.maximum(comma - len(b'","stream":"stderr"'), 0)
    good = (buffer[comma] == ord(",")) & (buffer[comma - 1] == ord('"')) & (tail >= start[which] + len(OPENING))
    good &= (words[tail] == _word(_STREAM[:8])) & (words[tail + 4] == _word(_STREAM[4:]))
    name = words[tail + len(_STREAM)] & np.uint64(0xFFFFFFFFFFFF)
    stderr = name == _word(b"stderr\0\0")
    good &= stderr | (name == _word(b"stdout\0\0"))
    which, stamp, tail, stderr = which[good], stamp[good], tail[good], stderr[good]
    text = start[which] + len(OPENING)
    closed = (buffer[tail - 1] == ord("n")) & (buffer[tail - 2] == ord("\\")) & (tail - 2 >= text)
    closed &= (buffer[tail - 3] != ord("\\")) | (tail - 3 < text)
    plain = closed | (tail - text < PIECE)  # of others it takes more than bytes to tell whether they are pieces
    found = Split(which, text, tail - 2 * closed, stamp, end[which] - 2 - stamp, stderr)
    return found if plain.all() else Split(*(column[plain] for column in (found.which, found.start, found.end, found.stamp, found.stamp_size, found.stderr)))


def _word(letters: bytes) -> np.uint64:
    return np.frombuffer(letters, "<u8")[0]  # type: ignore[no-any-return]
