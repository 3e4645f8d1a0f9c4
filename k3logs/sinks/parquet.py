"""Apache Parquet, zstd, the stored form of an event table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow.parquet as pq

if TYPE_CHECKING:
    import polars as pl

LEVEL = 1
"""zstd level; 3 and 9 cost time and save little on log columns."""


class ParquetSink:
    """One row group per frame; sorted columns of whole numbers are stored as differences."""

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
                    writer = pq.ParquetWriter(out, table.schema, compression="zstd", compression_level=LEVEL)
                elif table.schema != writer.schema:
                    table = table.cast(writer.schema)
                writer.write_table(table, row_group_size=max(1, len(frame)))
                rows += len(frame)
        finally:
            if writer is not None:
                writer.close()
        return rows
