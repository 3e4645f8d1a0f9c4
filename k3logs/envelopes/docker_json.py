"""Docker's ``json-file`` driver: ``{"log":"...\\n","stream":"stderr","time":"2026-08-05T12:00:01.5Z"}``.

Written by moby ``daemon/logger/jsonfilelog``; keys stand in the order log, stream, attrs, time. A line of more than
16384 bytes comes in pieces, all but the last without the closing ``\\n``; they are joined by ``k3logs.events.partials``.
"""

from __future__ import annotations

import polars as pl

OPENING = b'{"log":"'
_TAIL = r'","stream":"(?P<stream>stdout|stderr)"(?:,"attrs":\{(?P<attrs>[^}]*)\})?,"time":"(?P<stamp>[^"]+)"\}$'
_TAIL_CHARACTERS = 400
"""A line's closing part is looked for in so many last characters."""


def read(lines: pl.Series) -> pl.DataFrame:
    """Split json-file lines.

    Returns:
        columns ``text`` (decoded, without the closing newline), ``stream``, ``stamp`` (RFC 3339), ``partial``
        (``P`` where the closing newline is missing), null on lines of another shape.
    """
    frame = pl.DataFrame({"line": lines}).with_columns(pl.col("line").str.slice(-_TAIL_CHARACTERS).str.extract_groups(_TAIL).alias("g")).unnest("g")
    frame = frame.with_columns(
        pl.col("line").str.slice(len(OPENING)).str.replace(_TAIL, "").alias("body"),
        pl.when(pl.col("stamp").is_not_null()).then(pl.lit(True)).alias("ok"),
    )
    whole = pl.col("body").str.ends_with("\\n") & ~pl.col("body").str.ends_with("\\\\n")
    return frame.select(
        pl.col("body").str.strip_suffix("\\n").alias("text"),
        "stream",
        "stamp",
        pl.when(whole).then(pl.lit("F")).otherwise(pl.lit("P")).alias("partial"),
        "attrs",
        "ok",
    )
