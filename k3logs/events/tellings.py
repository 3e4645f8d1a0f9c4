"""Which event each row of the table belongs to, and what is known of that event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.lookup import Lookup
from k3logs.events.repeated import Repeated

Places = npt.NDArray[np.int64]

PARTS = 1 << 15
"""A row's place in its source is one number: its line times this, plus its part."""

_SAID = ("signature", "role", "phase", "exception")


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


class Tellings:
    """The events of one source, looked up by row.

    Args:
        streams: number of each element's stream.
        types: of the table's columns.
    """

    def __init__(self, told: Told, streams: Sequence[int], types: dict[str, pl.DataType]) -> None:
        self._told = pl.DataFrame(
            {"stream": streams, "start": told.start, "end": told.end, "event": told.event, **{name: getattr(told, name) for name in _SAID}},
            schema={**dict.fromkeys(("stream", "start", "end", "event"), pl.Int64()), **{name: types[name] for name in _SAID}},
        ).sort("start", maintain_order=True)
        self._said = Lookup(pl.concat([self._told.select(_SAID), self._told.select(_SAID).clear(1)]))  # the last one for rows without an event
        self._nothing = [Repeated(column) for column in self._told.select(_SAID).clear(1)]
        self._stream, self._start, self._end = (self._told[name].to_numpy() for name in ("stream", "start", "end"))

    def of(self, stream: Places, place: Places) -> tuple[Places, pl.DataFrame]:
        """The number of each row's event, -1 for none, and what is known of it."""
        event = np.full(len(place), -1, np.int64)
        rows = self._near(stream, place)
        if not len(rows):
            return event, pl.DataFrame([column.of(len(place)) for column in self._nothing])
        asked = pl.DataFrame({"row": rows, "stream": stream[rows], "place": place[rows]}).sort("place")
        told = self._told.with_row_index("number")
        found = asked.join_asof(told, left_on="place", right_on="start", by="stream", strategy="backward", check_sortedness=False)
        found = found.filter(pl.col("end") >= pl.col("place"))
        event[found["row"].to_numpy()] = found["event"].to_numpy()
        number = np.full(len(place), len(told), np.int64)
        number[found["row"].to_numpy()] = found["number"].to_numpy()
        return event, self._said.of(number)

    def _near(self, stream: Places, place: Places) -> Places:
        """Rows that an event may be at: of its stream, and not beyond all events of the chunk."""
        near = (self._start <= place.max()) & (self._end >= place.min()) if len(place) else np.zeros(0, np.bool_)
        if not near.any():
            return np.zeros(0, np.int64)
        told = np.zeros(max(int(stream.max()), int(self._stream.max())) + 1, np.bool_)
        told[self._stream[near]] = True
        rows: Places = np.flatnonzero(told[stream] & (place >= self._start[near].min()) & (place <= self._end[near].max()))
        return rows
