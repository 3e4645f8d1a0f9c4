"""The folder of results: parts while it runs, one file at the end, nothing half written at any time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from k3logs.batch.rows import Row, frame
from k3logs.errors import InputError
from k3logs.sinks.atomic import replacing

if TYPE_CHECKING:
    import polars as pl

PATTERN = "verdict-*.parquet"


class Store:
    """``OUT/verdict-*.parquet``; where two files hold an incident, the later one is right.

    Raises:
        InputError: the folder cannot be made, or holds something else under these names.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make folder {folder}: {error.strerror}", "choose another one with -o") from error
        self.folder = folder
        for left in folder.glob(f".{PATTERN}.*.part"):  # of a run that was killed while it wrote
            left.unlink(missing_ok=True)
        self._files = sorted(folder.glob(PATTERN))
        if folders := [file for file in self._files if file.is_dir()]:
            raise InputError(f"{folders[0]} is a folder, and results are files of such names", "choose another folder with -o, or move it away")
        self._next = max((int(f.stem.rpartition("-")[2]) for f in self._files if f.stem.rpartition("-")[2].isdigit()), default=0) + 1
        self.table = self._read()

    def _read(self) -> pl.DataFrame:
        import polars as pl

        empty = frame([])
        tables = [empty]
        for file in self._files:
            try:
                tables.append(pl.read_parquet(file).select(empty.columns).cast(empty.schema))
            except (OSError, pl.exceptions.PolarsError) as error:
                raise InputError(f"{file} is not a table of verdicts", "choose an empty folder with -o, or remove the file") from error
        return pl.concat(tables).unique("incident", keep="last", maintain_order=True)

    def done(self) -> set[tuple[str, int, int]]:
        """Keys of the incidents that have a verdict; those that errored are tried again."""
        import polars as pl

        good = self.table.filter(pl.col("error").is_null())
        return set(good.select("incident", "size", "modified").iter_rows())

    def add(self, rows: list[Row]) -> None:
        """Write rows as a part of their own."""
        import polars as pl

        if rows:
            part = frame(rows).sort("incident")
            self._write(part)
            self.table = pl.concat([self.table, part]).unique("incident", keep="last", maintain_order=True)

    def close(self) -> None:
        """Put all parts together in one file, in the order of names."""
        old = list(self._files)
        if len(old) > 1:
            self._write(self.table.sort("incident"))
            for file in old:
                file.unlink(missing_ok=True)

    def _write(self, table: pl.DataFrame) -> None:
        path = self.folder / f"verdict-{self._next:05d}.parquet"
        data = io.BytesIO()  # polars' own error for a full disk does not say that it is one
        table.write_parquet(data, compression="zstd")
        with replacing(path) as out:
            out.write(data.getbuffer())
        self._files.append(path)
        self._next += 1
