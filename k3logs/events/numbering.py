"""Numbers of records: lines that belong together have the same, over all chunks of a source."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.stamps import NO_TIME, Nanos

Places = npt.NDArray[np.int64]

_CONTINUES = r"^[\s)\]}]|^$"
"""How a message goes on with the one above that has the same header, stamp and place in the code."""


class Numbering:
    """Numbers the records of one source, each by its first row.

    Args:
        first: number of the source's first row.
        events: how many events triage found in the source; their lines are known to belong together.
    """

    def __init__(self, first: int, events: int) -> None:
        self.next = first
        self._of_event = np.full(events, -1, np.int64)
        self._above: dict[int, tuple[int, int, str, int]] = {}

    def of(self, stream: Places, header: npt.NDArray[np.int32], time: Nanos, site: pl.Series, message: pl.Series, event: Places) -> Places:
        """Record numbers of the next rows.

        A row without an event goes on with the row above it in its stream, or stands alone.

        Args:
            stream: number of the stream of lines that a row is in.
            time: as stamped, or :data:`NO_TIME`.
            site: emitter's file and line, empty where it names none.
            event: number of the row's event, -1 for none.
        """
        count = len(header)
        number = np.arange(self.next, self.next + count, dtype=np.int64)
        self.next += count
        if not count:
            return number
        inside = event >= 0
        if inside.any():
            self._learn(event[inside], number[inside])
            number[inside] = self._of_event[event[inside]]
        may = ~inside & (time != NO_TIME) & (site != "").to_numpy() & message.str.contains(_CONTINUES).to_numpy()
        order = np.argsort(stream, kind="stable")
        stream, header, time, number, may, site = stream[order], header[order], time[order], number[order], may[order], site.gather(order)
        opens = np.ones(count, np.bool_)
        opens[1:] = stream[1:] != stream[:-1]
        same_site = (site == site.shift(1)).fill_null(value=False).to_numpy()
        alone = np.ones(count, np.bool_)
        alone[1:] = ~(may[1:] & ~opens[1:] & same_site[1:] & (header[1:] == header[:-1]) & (time[1:] == time[:-1]))
        for row in np.flatnonzero(opens & may).tolist():  # once per stream: does it go on with the chunk before?
            above = self._above.get(int(stream[row]))
            if above is not None and above[:3] == (int(header[row]), int(time[row]), site[row]):
                number[row] = above[3]
        number = number[np.maximum.accumulate(np.where(alone, np.arange(count), 0))]
        for row in np.flatnonzero(np.append(opens[1:], np.True_)).tolist():
            self._above[int(stream[row])] = int(header[row]), int(time[row]), str(site[row]), int(number[row])
        back = np.empty(count, np.int64)
        back[order] = number
        return back

    def _learn(self, event: Places, number: Places) -> None:
        """An event's record is numbered by the first of its rows."""
        begins = np.full(len(self._of_event), -1, np.int64)
        begins[event[::-1]] = number[::-1]
        self._of_event = np.where(self._of_event < 0, begins, self._of_event)
