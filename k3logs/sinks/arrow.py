"""Apache Arrow: the IPC file format, which readers map into memory as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    from pyarrow.ipc import RecordBatchFileWriter


class ArrowSink:
    """One record batch per frame, zstd inside.

    Categories become plain strings: the file format allows one dictionary per column, and theirs grows with each frame.
    """

    extension = "arrow"
    binary = True

    def write(self, frames: Iterable[pl.DataFrame], out: BinaryIO) -> int:
        """Write all frames, in order; see :class:`k3logs.sinks.base.Sink`."""
        writer: RecordBatchFileWriter | None = None
        schema: Any = None
        rows = 0
        try:
            for frame in frames:
                table = frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).to_arrow()
                if writer is None:
                    schema = table.schema
                    writer = pa.ipc.new_file(out, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))
                elif table.schema != schema:
                    table = table.cast(schema)
                writer.write_table(table)
                rows += len(frame)
        finally:
            if writer is not None:
                writer.close()
        return rows
