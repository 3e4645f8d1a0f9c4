"""Docker's ``json-file`` driver: ``{"log":"...\\n","stream":"stderr","time":"2026-08-05T12:00:01.5Z"}``.

Written by moby ``daemon/logger/jsonfilelog``; keys stand in the order log, stream, attrs, time, without spaces. A line of
more than 16384 bytes comes in pieces of that size, all but the last without the closing ``\\n`` (``daemon/logger/copier.go``);
they are joined by ``k3logs.events.partials``. What a collector made of such a line is read by ``collected_json``.
"""

from __future__ import annotations

import polars as pl

OPENING = '{"log":"'
PIECE = 16_384
"""Bytes of a piece. A shorter line without ``\\n`` is the last that a process printed, or lost its ``\\n`` to a collector."""

_TAIL = r'","stream":"(?P<stream>stdout|stderr)"(?:,"attrs":\{[^}]*\})?,"time":"(?P<stamp>[^"]+)"\}$'
_TAIL_CHARACTERS = 400
"""A line's closing part is looked for in so many last characters."""


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
