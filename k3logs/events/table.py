"""Rows of a chunk -> rows of the event table, a column at a time.

What a header says is looked up once per header and gathered by header number; nothing here runs once per line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs import redact, schema
from k3logs.events.backward import places
from k3logs.events.headers import Header, Headers
from k3logs.events.numbering import Numbering
from k3logs.events.records import stream_of
from k3logs.events.rows import Rows
from k3logs.events.stamps import NO_TIME, SECOND, Nanos, has_year, has_zone, with_year

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PARTS = 1 << 15
"""A row's place in its source is one number: its line times this, plus its part."""

_SHORTEST = 1_000
"""Nanoseconds that a stamp covers at least."""


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


@dataclass(frozen=True, slots=True)
class Clock:
    """How a source's stamps are read, all in nanoseconds.

    Attributes:
        zone: by which zone-less stamps are ahead of UTC.
        reference: year-less stamps are in the year that brings them nearest to it.
        late: by which a wrapper may read a line late.
        coarse: dialects whose stamps hold only in whole seconds.
        lines, lows, highs: lines with a time of their own; a line without one lies between its neighbours among these.
    """

    zone: int
    reference: int
    late: int
    coarse: frozenset[str]
    lines: Places
    lows: Nanos
    highs: Nanos


@dataclass(slots=True)
class Told:
    """What is known of the events of one source, one element per event and stream of lines that it stands in.

    Attributes:
        stream, start, end: the lines of ``stream`` from place ``start`` to place ``end`` (see :data:`PARTS`), unless a later event begins there.
        event: number of the event in its source; the first is 0.
    """

    stream: list[tuple[str, ...]] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    event: list[int] = field(default_factory=list)
    signature: list[str | None] = field(default_factory=list)
    role: list[str | None] = field(default_factory=list)
    phase: list[str | None] = field(default_factory=list)
    exception: list[int | None] = field(default_factory=list)

    def add(self, *values: Any) -> None:
        """Add one element: a value for each attribute, in their order."""
        for one, value in zip(fields(self), values, strict=True):
            getattr(self, one.name).append(value)


class Table:
    """The rows of one source, chunk by chunk.

    Args:
        name: of the source.
        who: called once per header.
        record: number of the source's first record.
        up: added to the lines' numbers by the reading that ``clock`` and ``told`` come from (see :func:`k3logs.events.backward.shift`).
    """

    def __init__(self, name: str, headers: Headers, who: Callable[[Header], Who], clock: Clock, told: Told, record: int = 0, up: int = 0) -> None:
        self._name = redact.mask(name)
        self._headers = headers
        self._who = who
        self._clock = clock
        self._types = schema.dtypes()
        self._known: dict[str, list[Any]] = {name: [] for name in (*(f.name for f in fields(Who)), "dialect", "form", "level", "stream", "year", "zone", "coarse")}
        self._streams: dict[tuple[str, ...], int] = {}
        numbers = [self._streams.setdefault(stream, len(self._streams)) for stream in told.stream]
        self._told = pl.DataFrame(
            {"stream": numbers, "start": told.start, "end": told.end, "event": told.event, **{n: getattr(told, n) for n in ("signature", "role", "phase", "exception")}},
            schema={**dict.fromkeys(("stream", "start", "end", "event"), pl.Int64()), **{n: self._types[n] for n in ("signature", "role", "phase", "exception")}},
        ).sort("start", maintain_order=True)
        self._time = NO_TIME
        self._lines = up
        self._secrets = redact.Columns()
        self.numbering = Numbering(record, max(told.event, default=-1) + 1)

    def frame(self, rows: Rows) -> pl.DataFrame:
        """The table's rows for one chunk's, in the columns of :func:`k3logs.schema.dtypes`."""
        self._learn()
        which = np.flatnonzero(~rows.dropped)
        header = rows.header[which]
        line = rows.number[which].astype(np.int64) + self._lines + 1
        part = rows.part[which]
        self._lines += rows.newlines
        table = {name: self._gather(name, header) for name in (*(f.name for f in fields(Who) if f.name != "shift"), "dialect", "form", "level")}
        table["source"] = pl.repeat(self._name, len(which), eager=True)
        table["line"], table["part"] = pl.Series(places(line)), pl.Series(part)
        table["line_end"] = self._ends(rows, which)
        message, site = rows.messages(which), rows.site_texts(which)
        # the texts are views on the chunk's buffer: copied out, or each frame would hold its chunk
        table["message"] = self._secrets.mask(message, self._array("stream", header)) + ""
        found = pl.DataFrame({"site": site}).select(pl.col("site").str.extract_groups("^(?<file>.+?)(?::(?<line>[0-9]{1,9}))?$")).unnest("site")
        table["file"], table["file_line"] = redact.mask_series(found["file"]), found["line"]
        table |= self._times(rows, which, header, line)
        told = self._tell(header, line * PARTS + part)
        table |= {name: told[name] for name in ("signature", "role", "phase", "exception")}
        event = told["event"].fill_null(-1).to_numpy()
        table["record"] = pl.Series(self.numbering.of(self._array("stream", header), header, rows.time[which], site, message, event))
        return pl.DataFrame([table[name].cast(dtype).alias(name) for name, dtype in self._types.items()])

    # ---- what headers say --------------------------------------------------------
    def _learn(self) -> None:
        """Look up headers that are new."""
        for header in self._headers.known[len(self._known["form"]) :]:
            who = self._who(header)
            for one in fields(Who):
                value = getattr(who, one.name)
                self._known[one.name].append(redact.mask(value) if isinstance(value, str) else value)
            self._known["dialect"].append(header.dialect)
            self._known["form"].append(" ".join(header.forms) or None)
            self._known["level"].append(header.level or None)
            self._known["stream"].append(self._streams.setdefault(stream_of(header), len(self._streams)))
            self._known["year"].append(has_year(header.stamp))
            self._known["zone"].append(has_zone(header.stamp))
            self._known["coarse"].append(header.dialect in self._clock.coarse)

    def _gather(self, name: str, header: npt.NDArray[np.int32]) -> pl.Series:
        return pl.Series(name, self._known[name], dtype=self._types[name], strict=False).gather(header)

    def _array(self, name: str, header: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        return np.array(self._known[name])[header]

    # ---- lines ---------------------------------------------------------------------
    def _ends(self, rows: Rows, which: Places) -> pl.Series:
        """Last lines of the rows that are made of pieces."""
        ends, made = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        if rows.joined and rows.newlines:  # what is left at the end of a source has no last piece
            last = list(rows.joined)
            ends[last], made[last] = np.array(list(rows.joined.values()), np.int64) + self._lines - rows.newlines + 1, True
        return pl.Series(places(ends[which])).set(pl.Series(~made[which]), None)

    # ---- times ---------------------------------------------------------------------
    def _times(self, rows: Rows, which: Places, header: npt.NDArray[np.int32], line: Places) -> dict[str, pl.Series]:
        own, read, grain, clock = rows.time[which].copy(), rows.envelope_time[which], rows.grain[which], self._clock
        stamped, wrapped = own != NO_TIME, read != NO_TIME
        yearless = stamped & ~self._array("year", header)
        if yearless.any():
            own[yearless] = with_year(own[yearless], clock.reference)
        own[stamped & ~self._array("zone", header)] -= clock.zone
        coarse = stamped & self._array("coarse", header)
        low = np.where(stamped, np.where(coarse, own // SECOND * SECOND, own), NO_TIME)
        high = np.where(stamped, low + np.where(coarse, SECOND, np.maximum(grain, _SHORTEST)), NO_TIME)
        high = np.where(wrapped, np.where(stamped, np.minimum(high, np.maximum(read, low)), read), high)
        low = np.where(wrapped & ~stamped, read - clock.late, low)
        bare = ~stamped & ~wrapped
        if bare.any() and len(clock.lines):
            after = np.searchsorted(clock.lines, line, "right")
            inside = bare & (after < len(clock.lines))
            high[inside] = clock.highs[after[inside]]
            before = np.searchsorted(clock.lines, line, "left")
            inside = bare & (before > 0)
            low[inside] = clock.lows[before[inside] - 1]
            low = np.where(bare & (high != NO_TIME), np.minimum(low, high), low)
        time = np.where(stamped, own, read)
        source = np.maximum.accumulate(np.where(time != NO_TIME, np.arange(len(time)), -1))
        time = np.where(source >= 0, time[source], self._time) if len(time) else time
        self._time = int(time[-1]) if len(time) else self._time
        shift = self._array("shift", header).astype(np.int64)
        origin = np.where(stamped, 0, np.where(wrapped, 1, np.where(time != NO_TIME, 2, -1))).astype(np.int8)
        return {
            "time": _stamps(time),
            "time_origin": pl.Series(schema.TIME_ORIGINS, dtype=self._types["time_origin"]).gather(pl.Series(origin).replace(-1, None)),
            "time_resolution": pl.Series(grain).set(pl.Series(~stamped), None),
            "envelope_time": _stamps(read),
            "time_aligned": _stamps(time, shift),
            "time_low": _stamps(low, shift),
            "time_high": _stamps(high, shift),
        }

    # ---- events --------------------------------------------------------------------
    def _tell(self, header: npt.NDArray[np.int32], place: Places) -> pl.DataFrame:
        """The event that each row belongs to, if any."""
        rows = pl.DataFrame({"row": np.arange(len(place)), "stream": self._array("stream", header).astype(np.int64), "place": place}).sort("place")
        found = rows.join_asof(self._told, left_on="place", right_on="start", by="stream", strategy="backward", check_sortedness=False).sort("row")
        outside = (pl.col("end") < pl.col("place")).fill_null(value=True)
        return found.select(pl.when(~outside).then(pl.col(name)).alias(name) for name in ("event", "signature", "role", "phase", "exception"))


def _stamps(nanos: Nanos, shift: Places | int = 0) -> pl.Series:
    known = nanos != NO_TIME
    found = pl.Series(np.where(known, nanos, 0) - shift)
    return found.set(pl.Series(~known), None)
