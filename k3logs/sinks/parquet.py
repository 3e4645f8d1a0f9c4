"""Apache Parquet, zstd, the stored form of an event table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

LEVEL = 1
"""zstd level; 3 and 9 cost time and save little on log columns."""

_RISING = frozenset({"line", "line_end", "record"})
"""Columns of whole numbers that rise, as times do: stored as differences."""

_BATCH = 1 << 16


class ParquetSink:
    """One row group per frame; what rises is stored as differences, texts compressed, all else by the number of each different value.

    Least and greatest values, by which readers skip row groups, are kept of what rises: other columns have all of their values in every row group.
    """

    extension = "parquet"
    binary = True

    def write(self, frames: Iterable[pl.DataFrame], out: BinaryIO) -> int:
        """Write all frames, in order; see :class:`k3logs.sinks.base.Sink`."""
        writer: Any = None
        rows = 0
        try:
            for frame in frames:
                table = frame.to_arrow()
                if writer is None:
                    writer = pq.ParquetWriter(out, table.schema, write_batch_size=_BATCH, **_encodings(table.schema))
                elif table.schema != writer.schema:
                    table = table.cast(writer.schema)
                writer.write_table(table, row_group_size=max(1, len(frame)))
                rows += len(frame)
        finally:
            if writer is not None:
                writer.close()
        return rows


def _encodings(schema: pa.Schema) -> Mapping[str, Any]:
    rising = [field.name for field in schema if field.name in _RISING or pa.types.is_timestamp(field.type)]
    texts = [field.name for field in schema if pa.types.is_large_string(field.type)]
    return {
        "compression": {name: "zstd" if name in texts else "none" for name in schema.names},  # of the others it would take a tenth, at the cost of a tenth
        "compression_level": dict.fromkeys(texts, LEVEL),
        "use_dictionary": [name for name in schema.names if name not in rising and name not in texts],
        "column_encoding": dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
        "write_statistics": rising,
    }
