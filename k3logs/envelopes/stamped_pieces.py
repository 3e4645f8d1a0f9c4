"""Long lines in which ``docker logs -t`` left the stamps of their pieces, put together again.

The json-file driver cuts a line after 16384 bytes of payload (``daemon/logger/copier.go``); with ``-t`` each piece is printed
behind its stamp, which is the first one's, and without a newline before it (``api/server/httputils/write_log_stream.go``).
"""

from __future__ import annotations

import polars as pl

PIECE, STAMP = 16384, 31
"""Bytes of payload in a piece, and of ``2026-08-05T09:30:43.000000001Z`` with the blank behind it."""

LONGEST_WHOLE = STAMP + PIECE
"""Bytes up to which a stamped line is one piece."""

_SHAPE = {4: b"-", 7: b"-", 10: b"T", 13: b":", 16: b":", 19: b".", 29: b"Z", 30: b" "}


def mend(text: pl.Series) -> pl.Series:
    """Lines of more than :data:`LONGEST_WHOLE` bytes without the stamps between their pieces; other lines as they are."""
    return pl.Series(text.name, [_mend(line.encode()).decode(errors="replace") for line in text], dtype=pl.String)


def _mend(line: bytes) -> bytes:
    stamp = line[:STAMP]
    if any(stamp[place : place + 1] != letter for place, letter in _SHAPE.items()):
        return line
    parts, place = [line[:LONGEST_WHOLE]], LONGEST_WHOLE
    while line[place : place + STAMP] == stamp:
        parts.append(line[place + STAMP : place + LONGEST_WHOLE])
        place += LONGEST_WHOLE
    return b"".join([*parts, line[place:]])
