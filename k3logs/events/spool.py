"""What one reading of a log found out about each line, kept aside, so that the log is read once and its text looked up.

About 40 bytes a line, and text that does not stand in the log as it is (decoded JSON, joined pieces). They lie in a temporary
file, and memory holds only where; or, for a table that is made in memory, in memory with the log's own text, which that table
holds in any case: then nothing is read for a second time.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from k3logs.errors import InputError
from k3logs.events.lines import Bytes, Ints, exactly, views, views_of
from k3logs.events.rows import Places, Rows
from k3logs.events.sites import Sites
from k3logs.events.stamps import NO_TIME, Nanos
from k3logs.events.utf8 import repair_utf8

Column = npt.NDArray[Any]


class Spool:
    """A temporary file that columns are put into; it goes when this goes.

    Args:
        in_memory: there is no file, and columns stay in memory as they are.
    """

    def __init__(self, in_memory: bool = False) -> None:
        self.in_memory = in_memory
        self._file: IO[bytes] | None = None
        self._end = 0

    def put(self, column: Column) -> _Place:
        """Keep a column; returns where it lies."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()
        data = np.ascontiguousarray(column)
        place = _Place(self._end, len(data), data.dtype)
        try:
            self._file.seek(self._end)
            self._file.write(data.data.cast("B") if len(data) else b"")
        except OSError as error:
            raise InputError(f"cannot keep aside what was read: {error.strerror or error}", "set TMPDIR to a folder with room: a third of the log's size") from error
        self._end += data.nbytes
        return place

    def get(self, place: _Place) -> Column:
        """A column that was kept."""
        found = np.empty(place.count, place.kind)
        if place.count and self._file is not None:
            self._file.seek(place.offset)
            self._file.readinto(found.data.cast("B"))  # type: ignore[attr-defined]
        return found


@dataclass(frozen=True, slots=True)
class _Place:
    offset: int
    count: int
    kind: np.dtype[Any]


@dataclass(slots=True)
class Kept:
    """A chunk's rows as the event table needs them, one element per row, in the order of the log; pieces that were joined to another row are left out.

    Attributes:
        number: lines of the source before this one, less those before this chunk.
        part: None where all are 0.
        time, envelope_time: ns, :data:`NO_TIME` where there is none; None where no row has one. ``grain`` (ns) belongs to ``time``.
        site: number in ``Sites.texts``; None where no row names a place.
        made, last: rows that are made of pieces, and ``number`` of the last piece of each.
        odd: whether the message may hold a secret.
        newlines: in the chunk.
    """

    number: Ints
    part: npt.NDArray[np.int16] | None
    header: Ints
    time: Nanos | None
    envelope_time: Nanos | None
    grain: Ints | None
    site: Ints | None
    made: Places
    last: Ints
    odd: npt.NDArray[np.bool_]
    newlines: int
    start: Ints
    size: Ints
    block: npt.NDArray[np.int16] | None
    blocks: list[tuple[Bytes, pa.Buffer]]

    def __len__(self) -> int:
        return len(self.header)

    def messages(self) -> pl.Series:
        """The message of each row: views on the chunk, which lives as long as they do."""
        if self.block is None:
            return views(*self.blocks[0], self.start, self.size)
        return views_of(self.blocks, self.block, self.start, self.size)

    def first_bytes(self, which: Places) -> Bytes:
        """The first byte of some messages, of empty ones whatever stands there."""
        if self.block is None:
            return self.blocks[0][0][self.start[which]]
        found = np.zeros(len(which), np.uint8)
        block = self.block[which]
        for number in np.flatnonzero(np.bincount(block)).tolist():
            inside = np.flatnonzero(block == number)
            found[inside] = self.blocks[number][0][self.start[which[inside]]]
        return found


@dataclass(slots=True)
class _Chunk:
    """Where a chunk's columns lie; ``size`` bytes of the log are its text, unless it has a text of its own: ``texts[0]``.

    ``lent`` where the last newline of these does not stand in the log. ``inside`` has the columns and texts that stayed in memory.
    """

    size: int
    lent: bool
    newlines: int
    columns: dict[str, _Place] = field(default_factory=dict)
    texts: list[_Place] = field(default_factory=list)
    inside: tuple[dict[str, Column], list[tuple[Bytes, pa.Buffer]]] | None = None


@dataclass(slots=True)
class Spooled:
    """The rows of one source."""

    spool: Spool
    sites: Sites = field(default_factory=Sites)
    _chunks: deque[_Chunk] = field(default_factory=deque)

    def add(self, rows: Rows, odd: npt.NDArray[np.bool_], size: int | None, lent: bool = False) -> None:
        """Keep a chunk's rows, whose times have been read.

        Args:
            odd: whether the message may hold a secret.
            size: bytes of the chunk; None where it is not a piece of the log.
            lent: the newline that ends the chunk does not stand in the log.
        """
        which = np.flatnonzero(~rows.dropped) if rows.dropped.any() else np.arange(len(rows), dtype=np.int64)
        some: slice | Places = which if len(which) < len(rows) else slice(None)
        block, start, length = rows.spans(which)
        columns: dict[str, Column | None] = {"header": rows.header[some], "start": start, "size": length, "odd": odd[some], "block": block}
        columns["number"] = rows.number[some] if len(which) < len(rows) or rows.joined or len(rows) != rows.newlines else None
        columns["part"] = rows.part[some] if rows.part.any() else None
        for name, column in (("time", rows.time), ("envelope_time", rows.envelope_time)):
            columns[name] = column[some] if (column != NO_TIME).any() else None
        columns["grain"] = rows.grain[some].astype(np.int32) if columns["time"] is not None else None
        sites = self.sites.of(rows)
        columns["site"] = None if sites is None else sites[some]
        if rows.joined:
            made = np.fromiter(rows.joined, np.int64, len(rows.joined))
            columns["made"] = np.searchsorted(which, made)
            columns["last"] = np.fromiter(rows.joined.values(), np.int32, len(made))
        known = {name: column for name, column in columns.items() if column is not None}
        if self.spool.in_memory:
            self._chunks.append(_Chunk(size or 0, lent, rows.newlines, inside=(known, [(lines.buffer, lines.owner) for lines in rows.blocks])))
            return
        texts = [lines.buffer for lines in (rows.blocks if size is None else rows.blocks[1:])]
        places = {name: self.spool.put(column) for name, column in known.items()}
        self._chunks.append(_Chunk(size or 0, lent, rows.newlines, places, [self.spool.put(text) for text in texts]))

    def read(self, stream: BinaryIO | None) -> Iterator[tuple[Kept, int]]:
        """The rows again, chunk by chunk, each with the bytes of the log read so far; what stayed in memory is let go.

        Args:
            stream: the log, in the order in which it was read before; None where all stayed in memory.

        Raises:
            OSError: the log is shorter than it was.
        """
        done = 0
        while self._chunks:
            chunk = self._chunks.popleft()
            done += chunk.size
            get, blocks = chunk.inside or self._found(chunk, stream)
            count = len(get["header"])
            number = get["number"] if "number" in get else np.arange(count, dtype=np.int32)
            yield Kept(number, get.get("part"), get["header"], get.get("time"), get.get("envelope_time"), get.get("grain"), get.get("site"),
                       get.get("made", np.zeros(0, np.int64)), get.get("last", np.zeros(0, np.int32)), get["odd"], chunk.newlines, get["start"], get["size"],
                       get.get("block"), blocks), done  # fmt: skip

    def _found(self, chunk: _Chunk, stream: BinaryIO | None) -> tuple[dict[str, Column], list[tuple[Bytes, pa.Buffer]]]:
        """A chunk's columns, and its texts."""
        texts = [self.spool.get(place) for place in chunk.texts]
        if chunk.size:
            assert stream is not None
            data = exactly(stream, chunk.size, chunk.lent)
            repair_utf8(data, chunk.size)
            texts.insert(0, data)
        return {name: self.spool.get(place) for name, place in chunk.columns.items()}, [(text, pa.py_buffer(text)) for text in texts]
