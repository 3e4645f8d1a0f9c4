"""Text formats of the event table: one JSON object a line, and CSV."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import polars as pl


class NdjsonSink:
    """One JSON object a line; times are RFC 3339 in UTC."""

    extension = "ndjson"
    binary = False

    def write(self, frames: Iterable[pl.DataFrame], out: BinaryIO) -> int:
        """Write all frames, in order; see :class:`k3logs.sinks.base.Sink`."""
        rows = 0
        for frame in frames:
            _write(_times_as_text(frame).write_ndjson, out)
            rows += len(frame)
        return rows


class CsvSink:
    """Comma separated, a header line first; lists are written as JSON."""

    extension = "csv"
    binary = False

    def write(self, frames: Iterable[pl.DataFrame], out: BinaryIO) -> int:
        """Write all frames, in order; see :class:`k3logs.sinks.base.Sink`."""
        rows = 0
        for number, frame in enumerate(frames):
            _write(partial(_flat(_times_as_text(frame)).write_csv, include_header=number == 0), out)
            rows += len(frame)
        return rows


def _write(write: Callable[[BinaryIO], object], out: BinaryIO) -> None:
    """By way of memory: polars gives an error of its own, without a number, where a reader has gone away."""
    text = io.BytesIO()
    write(text)
    out.write(text.getbuffer())


def _times_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(pl.col(pl.Datetime).dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ"))


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    as_json = [pl.struct(value=name).struct.json_encode().str.slice(len('{"value":')).str.strip_suffix("}").alias(name) for name in nested]
    return frame.with_columns(as_json)
