"""What is known of each line of a chunk: numbers at once, texts and times when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.headers import Codes
from k3logs.events.lines import Cut, Ints, Lines, views, views_of
from k3logs.events.stamps import NO_TIME, Nanos, StampReader

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


@dataclass(slots=True)
class Pieces:
    """Pieces of some rows' text, as offsets into the buffer of ``lines``: stamps (with a ``reader``) or emitters' places.

    ``early`` where they may be taken back (:meth:`Rows.take_back`).
    """

    row: Places
    lines: Lines
    start: Places
    size: Ints
    reader: StampReader | None = None
    envelope: bool = False
    early: bool = False


@dataclass(slots=True)
class Rows:
    """A chunk's lines, one element per line (or part of a line).

    Attributes:
        number: lines of the source before this one, less those before this chunk; below 0 where a line began in an earlier chunk.
        header: number of the line's header in ``Extractor.headers``.
        envelope_time, time: read time and emitter's time, ns; :data:`NO_TIME` where there is none. See :meth:`read_times`.
        grain: resolution of ``time``, ns.
        block, place: the row's text is line ``place`` of ``blocks[block]``; ``main`` is the first one, the chunk itself.
        dropped: pieces that were joined to another row.
        joined: rows made of pieces -> ``number`` of the last one.
        newlines: in the chunk.
    """

    raw: Lines
    number: Ints
    part: npt.NDArray[np.int16]
    header: Codes
    envelope_time: Nanos
    time: Nanos
    grain: npt.NDArray[np.int64]
    blocks: list[Lines]
    block: npt.NDArray[np.int16]
    place: Ints
    dropped: Mask
    newlines: int
    repaired: int
    stamps: list[Pieces] = field(default_factory=list)
    sites: list[Pieces] = field(default_factory=list)
    joined: dict[int, int] = field(default_factory=dict)
    _raws: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, pieces: Cut) -> Rows:
        """Rows of which nothing is known yet."""
        raw, count = pieces.lines, len(pieces.lines)
        main = Lines(raw.buffer, raw.owner, raw.start.copy(), raw.end.copy(), raw.row)
        return cls(raw, pieces.number.copy(), pieces.part, np.zeros(count, np.int32), np.full(count, NO_TIME, np.int64), np.full(count, NO_TIME, np.int64),
                   np.zeros(count, np.int64), [main], np.zeros(count, np.int16), np.arange(count, dtype=np.int32), np.zeros(count, np.bool_),
                   pieces.newlines, pieces.repaired)  # fmt: skip

    def __len__(self) -> int:
        return len(self.number)

    def read_times(self, wanted: Mask | None = None) -> None:
        """Fill ``envelope_time``, ``time`` and ``grain``, of all rows or of the wanted ones; inner stamps count."""
        groups: dict[tuple[tuple[str, ...], int, bool, int], list[tuple[Pieces, Mask]]] = {}
        depth = np.zeros(len(self), np.int8)
        for stamps in self.stamps:
            some = stamps.size > 0 if wanted is None else (stamps.size > 0) & wanted[stamps.row]
            row = stamps.row[some]
            if len(row) and stamps.reader is not None:
                layer = int(depth[row].max())  # of several stamps of one line the inner one counts: it is read later
                depth[row] = layer + 1
                groups.setdefault((stamps.reader.kind, id(stamps.lines), stamps.envelope, layer), []).append((stamps, some))
        for (kind, _, envelope, _), same in sorted(groups.items(), key=lambda group: group[0][3]):
            row, start, size = (np.concatenate([getattr(stamps, name)[some] for stamps, some in same]) for name in ("row", "start", "size"))
            nanos, grain = StampReader(kind).read(same[0][0].lines.buffer, start, size)
            read = nanos != NO_TIME
            target = self.envelope_time if envelope else self.time
            target[row[read]] = nanos[read]
            if not envelope:
                self.grain[row[read]] = grain[read]

    def messages(self, rows: Places) -> pl.Series:
        """Message texts of ``rows``; views on the chunk, not copies."""
        block, start, size = self.spans(rows)
        if block is None:
            return views(self.blocks[0].buffer, self.blocks[0].owner, start, size).rename("message")
        return views_of([(lines.buffer, lines.owner) for lines in self.blocks], block, start, size).rename("message")

    def spans(self, rows: Places) -> tuple[npt.NDArray[np.int16] | None, Ints, Ints]:
        """Where the messages of ``rows`` stand: block (None where it is 0 for all), start and size in its buffer."""
        block, place = self.block[rows], self.place[rows]
        if len(self.blocks) == 1 or not block.any():
            start, end = self.blocks[0].start[place], self.blocks[0].end[place]
            return None, start, end - start
        start, size = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32)
        for number in np.flatnonzero(np.bincount(block)).tolist():
            inside = np.flatnonzero(block == number)
            lines, where = self.blocks[number], place[inside]
            start[inside], size[inside] = lines.start[where], lines.end[where] - lines.start[where]
        return block, start, size

    def sizes(self, rows: Places) -> Ints:
        """Bytes of the messages of ``rows``."""
        return self.spans(rows)[2]

    def raws(self, rows: Places) -> pl.Series:
        """The lines ``rows`` as they were printed; of a line in pieces, the first piece."""
        text = self.raw.text(rows).rename("raw")
        other = [n for n, row in enumerate(rows.tolist()) if row in self._raws] if self._raws else []
        return text.scatter(other, [self._raws[int(rows[n])] for n in other]) if other else text

    def take_place(self, row: int, number: int, part: int, header: int, raw: str, envelope_time: int) -> None:
        """Row ``row``, a line's last piece, now stands for all of it: with what its first piece says. See :meth:`take_stamps`."""
        self.joined[row] = int(self.number[row])
        self.number[row], self.part[row], self.header[row] = number, part, header
        self._raws[row] = raw
        self.envelope_time[row] = envelope_time

    def take_stamps(self, rows: Iterable[int]) -> None:
        """The wrappers' stamps of these last pieces are not the lines' own: they are not read any more."""
        gone = np.zeros(len(self), np.bool_)
        gone[list(rows)] = True
        for stamps in self.stamps:
            if stamps.envelope:
                stamps.size[gone[stamps.row]] = 0

    def take_back(self, rows: Mask) -> None:
        """What was noted early of these rows does not hold."""
        for pieces in (*self.stamps, *self.sites):
            if pieces.early:
                pieces.size[rows[pieces.row]] = 0

    def blocks_of(self, rows: npt.NDArray[np.integer], lines: Lines) -> Mask:
        """Whether the text of each of ``rows`` stands in ``lines``."""
        number = next(n for n, block in enumerate(self.blocks) if block is lines)
        return np.asarray(self.block[rows] == number)

    def site_texts(self, rows: Places) -> pl.Series:
        """Emitter's file and line of ``rows``, empty where they name none."""
        where = np.full(len(self), -1, np.int64)
        found: list[pl.Series] = []
        base = 0
        wanted = np.zeros(len(self), np.bool_)
        wanted[rows] = True
        for sites in self.sites:
            some = np.flatnonzero(wanted[sites.row] & (sites.size > 0))
            if len(some):
                start = sites.start[some].astype(np.int32)
                found.append(Lines(sites.lines.buffer, sites.lines.owner, start, start + sites.size[some], start).text())
                where[sites.row[some]] = base + np.arange(len(some))
                base += len(some)
        if not found:
            return pl.repeat("", len(rows), eager=True)
        place = pl.Series(where[rows])
        return pl.concat(found).gather(place.set(place < 0, None)).fill_null("")
