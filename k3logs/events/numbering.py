"""Numbers of records: lines that belong together have the same, over all chunks of a source."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.sites import NOWHERE
from k3logs.events.spool import Kept
from k3logs.events.stamps import NO_TIME

Places = npt.NDArray[np.int64]

_NONE = -1
_GOES_ON = np.zeros(256, np.bool_)
_GOES_ON[list(b" \t\n\v\f\r)]}")] = True
"""First bytes of a message that goes on with the one above that has the same header, stamp and place in the code; an empty one does, too."""

_BEYOND = 128
_SPACE = r"^\s"
"""What messages that begin beyond ASCII must begin with to go on."""


class Numbering:
    """Numbers the records of one source, each by its first row.

    Args:
        first: number of the source's first row.
        events: how many events triage found in the source; their lines are known to belong together.
        streams: how many streams of lines the source has.
    """

    def __init__(self, first: int, events: int, streams: int) -> None:
        self.next = first
        self._of_event = np.full(events, _NONE, np.int64)
        self._header, self._site, self._number = (np.full(streams, _NONE, np.int64) for _ in range(3))
        self._time = np.full(streams, NO_TIME, np.int64)

    def of(self, stream: Places, rows: Kept, site: npt.NDArray[np.int32], message: pl.Series, event: Places) -> Places:
        """Record numbers of the next rows.

        A row without an event goes on with the row above it in its stream, or stands alone.

        Args:
            stream: number of the stream of lines that each row is in.
            site: number of the place in the code that each row names.
            event: number of each row's event, -1 for none.
        """
        count = len(rows)
        number = np.arange(self.next, self.next + count, dtype=np.int64)
        self.next += count
        inside = event >= 0
        if inside.any():
            self._learn(event[inside], number[inside])
            number[inside] = self._of_event[event[inside]]
        may = self._may(rows, site, message, inside)
        if len(may):
            concerned = np.zeros(len(self._number), np.bool_)
            concerned[stream[may]] = True
            self._go_on(np.flatnonzero(concerned[stream]), may, stream, rows, site, number)
        self._header[stream], self._site[stream], self._number[stream] = rows.header, site, number  # the last row of each stream stays
        self._time[stream] = NO_TIME if rows.time is None else rows.time
        return number

    @staticmethod
    def _may(rows: Kept, site: npt.NDArray[np.int32], message: pl.Series, inside: npt.NDArray[np.bool_]) -> Places:
        """Rows that go on with the one above if that is like them."""
        if rows.time is None:
            return np.zeros(0, np.int64)
        able = np.flatnonzero((site != NOWHERE) & (rows.time != NO_TIME) & ~inside)
        first = rows.first_bytes(able)
        goes_on = _GOES_ON[first] | (rows.size[able] == 0)
        beyond = np.flatnonzero((first >= _BEYOND) & ~goes_on)
        if len(beyond):
            goes_on[beyond] = message.gather(able[beyond]).str.contains(_SPACE).to_numpy()
        found: Places = able[goes_on]
        return found

    def _go_on(self, among: Places, may: Places, streams: Places, rows: Kept, site: npt.NDArray[np.int32], numbers: Places) -> None:
        """Give the rows ``may`` the numbers of those above them where these are like them; ``among`` are all rows of their streams."""
        assert rows.time is not None
        asked = np.zeros(len(numbers), np.bool_)
        asked[may] = True
        order = among[np.argsort(streams[among], kind="stable")]
        stream, number, goes_on = streams[order], numbers[order], asked[order]
        opens = np.ones(len(order), np.bool_)
        opens[1:] = stream[1:] != stream[:-1]
        alike, before = goes_on & ~opens, np.ones(np.count_nonzero(opens), np.bool_)
        for column, last in ((rows.header, self._header), (site, self._site), (rows.time, self._time)):
            values = column[order]
            alike[1:] &= values[1:] == values[:-1]
            before &= values[opens] == last[stream[opens]]  # does it go on with the chunk before?
        alike[opens] = before & goes_on[opens]
        number = np.where(opens & alike, self._number[stream], number)
        alone = ~alike | opens
        numbers[order] = number[np.maximum.accumulate(np.where(alone, np.arange(len(order)), 0))]

    def _learn(self, event: Places, number: Places) -> None:
        """An event's record is numbered by the first of its rows."""
        begins = np.full(len(self._of_event), -1, np.int64)
        begins[event[::-1]] = number[::-1]
        self._of_event = np.where(self._of_event < 0, begins, self._of_event)
