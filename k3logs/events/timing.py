"""Times of the table's rows: as stamped, on the reference node's clock, and between which bounds that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from k3logs import schema
from k3logs.events.headers import Header
from k3logs.events.spool import Kept
from k3logs.events.stamps import NO_TIME, SECOND, Nanos, has_year, has_zone, with_year

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SHORTEST = 1_000
"""Nanoseconds that a stamp covers at least."""

_STAMPED, _WRAPPED, _INHERITED, _NONE = range(4)
_UTC = pa.timestamp("ns", "UTC")


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


class Timing:
    """Times of one source's rows, chunk by chunk; a row without a stamp inherits the one before it.

    Args:
        shifts: per header, nanoseconds that its node's clock is ahead of the reference node's.
    """

    def __init__(self, clock: Clock, headers: Sequence[Header], shifts: Sequence[int]) -> None:
        self._clock = clock
        self._shift = np.array(shifts, np.int64)
        self._yearless, self._zoneless = (np.array([not has(header.stamp) for header in headers]) for has in (has_year, has_zone))
        self._coarse = np.array([header.dialect in clock.coarse for header in headers])
        self._origins = pl.Series([*schema.TIME_ORIGINS, None], dtype=pl.Enum(schema.TIME_ORIGINS))
        self._last = NO_TIME

    def of(self, rows: Kept, line: Places) -> dict[str, pl.Series]:
        """The table's columns that hold times; ``line`` is each row's place in the order of reading."""
        header, none = rows.header, np.full(len(rows), NO_TIME, np.int64)
        time, read = (none.copy() if times is None else times for times in (rows.time, rows.envelope_time))
        stamped, wrapped = time != NO_TIME, read != NO_TIME
        self._resolve(time, header, stamped)
        grain = np.full(len(rows), SECOND, np.int64) if rows.grain is None else rows.grain.astype(np.int64)
        low, high = self._bounds(time, read, grain, stamped, wrapped, header)
        origin = np.full(len(rows), _STAMPED, np.uint8)
        if not stamped.all():
            only, bare = np.flatnonzero(wrapped & ~stamped), np.flatnonzero(~(stamped | wrapped))
            time[only], low[only], high[only], origin[only] = read[only], read[only] - self._clock.late, read[only], _WRAPPED
            low[bare], high[bare] = self._between(line[bare])
            self._inherit(time, bare)
            origin[bare] = np.where(time[bare] != NO_TIME, _INHERITED, _NONE)
        if len(time):
            self._last = int(time[-1])
        return {"time_origin": self._origins.gather(origin), "time_resolution": nullable(grain, stamped), "envelope_time": nullable(read, wrapped, _UTC)} | self._columns(time, low, high, header)

    def _columns(self, time: Nanos, low: Nanos, high: Nanos, header: npt.NDArray[np.int32]) -> dict[str, pl.Series]:
        shift = self._shift[header] if self._shift.any() else np.int64(0)
        known = time != NO_TIME
        plain = nullable(time, known, _UTC)
        return {
            "time": plain,
            "time_aligned": nullable(time - shift, known, _UTC) if self._shift.any() else plain,
            "time_low": nullable(low - shift, low != NO_TIME, _UTC),
            "time_high": nullable(high - shift, high != NO_TIME, _UTC),
        }

    def _resolve(self, time: Nanos, header: npt.NDArray[np.int32], stamped: Mask) -> None:
        """Give stamps their year and zone, in place."""
        clock = self._clock
        yearless = stamped & self._yearless[header]
        if yearless.any():
            time[yearless] = with_year(time[yearless], clock.reference)
        if clock.zone:
            time[stamped & self._zoneless[header]] -= clock.zone

    def _bounds(self, own: Nanos, read: Nanos, grain: Nanos, stamped: Mask, wrapped: Mask, header: npt.NDArray[np.int32]) -> tuple[Nanos, Nanos]:
        """Between which times rows with a stamp of their own are; what is there for the others is not meant."""
        low, width = own.copy(), np.maximum(grain, _SHORTEST)
        coarse = np.flatnonzero(stamped & self._coarse[header])
        low[coarse] -= own[coarse] % SECOND
        width[coarse] = SECOND
        high = low + width
        both = stamped & wrapped
        if both.any():
            np.minimum(high, np.maximum(read, low), out=high, where=both)
        return low, high

    def _between(self, line: Places) -> tuple[Nanos, Nanos]:
        """Bounds of lines without a time of their own: their neighbours' that have one."""
        clock = self._clock
        low, high = np.full(len(line), NO_TIME, np.int64), np.full(len(line), NO_TIME, np.int64)
        if len(clock.lines):
            after = np.searchsorted(clock.lines, line, "right")
            inside = after < len(clock.lines)
            high[inside] = clock.highs[after[inside]]
            before = np.searchsorted(clock.lines, line, "left")
            inside = before > 0
            low[inside] = clock.lows[before[inside] - 1]
            low = np.where(high != NO_TIME, np.minimum(low, high), low)
        return low, high

    def _inherit(self, time: Nanos, bare: Places) -> None:
        known = np.arange(len(time))
        known[bare] = -1
        source = np.maximum.accumulate(known)[bare]
        time[bare] = np.where(source >= 0, time[source], self._last)


def nullable(values: npt.NDArray[np.int64], known: Mask, kind: pa.DataType | None = None) -> pl.Series:
    """A column of whole numbers, or of times, that is null where a value is not ``known``."""
    bits = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    array = pa.Array.from_buffers(kind or pa.int64(), len(values), [bits, pa.py_buffer(np.ascontiguousarray(values))])
    return pl.Series(array)
