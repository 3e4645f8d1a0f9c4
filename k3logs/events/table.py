"""Rows of a chunk -> rows of the event table, a column at a time.

What a header says is looked up once per header and gathered by header number; nothing here runs once per line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from k3logs import redact, schema
from k3logs.events.backward import places
from k3logs.events.headers import Header
from k3logs.events.lookup import Lookup
from k3logs.events.numbering import Numbering
from k3logs.events.records import stream_of
from k3logs.events.repeated import Repeated
from k3logs.events.sites import NOWHERE
from k3logs.events.spool import Kept
from k3logs.events.tellings import PARTS, Tellings, Told
from k3logs.events.timing import Clock, Timing, nullable


@dataclass(frozen=True, slots=True)
class Who:
    """What is known of the process behind a header; the names are columns of the table.

    Attributes:
        shift: nanoseconds that its node's clock is ahead of the reference node's.
    """

    node: str | None = None
    pod: str | None = None
    container: str | None = None
    process: str | None = None
    pid: int | None = None
    tid: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    dp: int | None = None
    pp: int | None = None
    tp: int | None = None
    ep: int | None = None
    shift: int = 0


class Table:
    """The rows of one source, chunk by chunk.

    Args:
        name: of the source.
        headers: all that the source has.
        sites: places in source code, by number (:class:`k3logs.events.sites.Sites`).
        who: called once per header that is in ``used``.
        record: number of the source's first record.
        up: added to the lines' numbers by the reading that ``clock`` and ``told`` come from (see :func:`k3logs.events.backward.shift`).
    """

    def __init__(self, name: str, headers: Sequence[Header], sites: Sequence[str], who: Callable[[int], Who], clock: Clock, told: Told, record: int = 0, up: int = 0) -> None:
        self._types = schema.dtypes()
        streams: dict[tuple[str, ...], int] = {}
        self._tellings = Tellings(told, [streams.setdefault(stream, len(streams)) for stream in told.stream], self._types)
        known = [who(number) for number in range(len(headers))]
        self._stream = np.array([streams.setdefault(stream_of(header), len(streams)) for header in headers], np.int64)
        self._timing = Timing(clock, headers, [one.shift for one in known])
        columns: dict[str, list[Any]] = {f.name: [_safe(getattr(one, f.name)) for one in known] for f in fields(Who) if f.name != "shift"}
        columns |= {"dialect": [h.dialect for h in headers], "form": [" ".join(h.forms) or None for h in headers], "level": [h.level or None for h in headers]}
        known_ = [pl.Series(column, values, dtype=self._types[column], strict=False) for column, values in columns.items()]
        differ = pl.DataFrame([column for column in known_ if column.n_unique() > 1])
        self._known = Lookup(differ)
        always = [*(column[:1] for column in known_ if column.name not in differ.columns), pl.Series("source", [redact.mask(name)], dtype=self._types["source"]),
                  pl.Series("part", [0], dtype=self._types["part"]), pl.Series("line_end", [None], dtype=self._types["line_end"])]  # fmt: skip
        self._always = {column.name: Repeated(column) for column in always}
        places_ = pl.DataFrame({"site": sites}, {"site": pl.String}).select(pl.col("site").str.extract_groups("^(?<file>.+?)(?::(?<line>[0-9]{1,9}))?$")).unnest("site")
        files = pl.DataFrame({"file": redact.mask_series(places_["file"]), "file_line": places_["line"]}).cast({n: self._types[n] for n in ("file", "file_line")})
        self._files = Lookup(files)
        self._lines = self._up = up
        self._secrets = redact.Columns()
        self.numbering = Numbering(record, max(told.event, default=-1) + 1, len(streams))

    def frame(self, rows: Kept) -> pl.DataFrame:
        """The table's rows for one chunk's, in the columns of :func:`k3logs.schema.dtypes`."""
        header, count = rows.header, len(rows)
        stream = self._stream[header]
        line = rows.number.astype(np.int64) + (self._lines + 1)
        place = line * PARTS if rows.part is None else line * PARTS + rows.part
        self._lines += rows.newlines
        table = {name: column.of(count) for name, column in self._always.items()}
        table |= {column.name: column for column in self._known.of(header)}
        table["line"] = pl.Series(places(line) if self._up else line)
        if rows.part is not None:
            table["part"] = pl.Series(rows.part)
        if len(rows.made):
            table["line_end"] = self._ends(rows)
        message = rows.messages()
        table["message"] = self._secrets.mask(message, stream, np.flatnonzero(rows.odd))
        site = rows.site if rows.site is not None else np.full(count, NOWHERE, np.int32)
        table |= {column.name: column for column in self._files.of(site)}
        table |= self._timing.of(rows, line)
        event, told = self._tellings.of(stream, place)
        table |= {column.name: column for column in told}
        table["record"] = pl.Series(self.numbering.of(stream, rows, site, message, event))
        return pl.DataFrame([table[name].cast(dtype).alias(name) for name, dtype in self._types.items()])

    def _ends(self, rows: Kept) -> pl.Series:
        """Last lines of the rows that are made of pieces."""
        ends = np.zeros(len(rows), np.int64)
        if rows.newlines:  # what is left at the end of a source has no last piece
            ends[rows.made] = places(rows.last.astype(np.int64) + (self._lines - rows.newlines + 1))
        return nullable(ends, ends != 0)


def _safe(value: Any) -> Any:
    return redact.mask(value) if isinstance(value, str) else value
