"""Logs that begin with their newest line, as web consoles, ``logcli`` and Loki's API (``direction=backward``) give them.

Such a log is read from its end. Its lines are numbered :data:`MIRROR` minus their place in the log, so that numbers still
ascend in the order of reading; :func:`restored` puts the places into a result.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import IO, Any, BinaryIO, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.digest import Digest, digest
from k3logs.events.extract import Extractor
from k3logs.events.gates import Gates
from k3logs.events.headers import Headers
from k3logs.events.spool import Spool
from k3logs.events.stamps import NO_TIME, Nanos
from k3logs.sources.chunks import chunks
from k3logs.sources.source import Source

CHANGES, SHARE = 10, 0.9
"""Stamps go down where they change so often at least, and of the changes so many go down."""

ALL, LINES = 3, 30
"""So many changes are enough if all go down, in a log of so many lines at least."""

MIRROR = 1 << 40
"""More lines than a log has."""

PEEK = 1 << 17
"""Bytes of a pipe that are looked at before it is read: it cannot be read again."""

STEP = 8 << 20

_T = TypeVar("_T")

_NOTICE = "newest line first; read from its end"
_KEPT = "newest record first; read as it stands, since lines within a record go forward"


def digest_either_way(
    source: Source, extractor: Callable[[], Extractor], gates: Gates, progress: Callable[[str, int], None] | None = None, spool: Spool | None = None
) -> Digest:
    """Digest a source; one that is backward from its end."""
    stream, reader = source.open(), extractor()
    piped = isinstance(stream, io.FileIO) and not stream.seekable()
    if piped:
        head = _read(stream, PEEK)
        stream = cast("BinaryIO", _Again(head, stream))
        if _goes_down(head, reader):
            return _turned(source, stream, reader.again(), gates, progress, spool)
    first = digest(replace(source, open=lambda: stream), reader.again(), gates, progress, spool)
    first.source = source
    way = "up" if first.rows.is_empty() else order(_points(first), first.rows, first.headers, first.lines)
    if way == "records":
        first.notices.append(_KEPT)
    if way != "down":
        return first
    if piped:
        first.notices.append("newest line first, which showed too late to read it from its end: its records may be torn; pipe it through tac")
        return first
    first.spooled = None  # what was kept of it is let go before all is kept once more
    return _turned(source, source.open(), reader.again(), gates, progress, spool)


def order(points: pl.DataFrame, rows: pl.DataFrame, headers: Headers, lines: int) -> str:
    """``down`` where the lines of a log go from the newest to the oldest, ``records`` where only its records do, else ``up``.

    The stamps of the reader say so if lines have them, else the emitters'; where they hardly change, tracebacks do that stand
    on their heads.

    Args:
        points: ``line``, ``header``, ``time`` and ``envelope_time`` of lines in the order in which they stand.
        rows: ``line``, ``header`` and ``message`` of lines that may be tracebacks'.
    """
    ups, downs = _changes(points["envelope_time"].to_numpy())
    if ups + downs < ALL:
        kinds: dict[tuple[str, ...], list[int]] = {}
        for header in points["header"].unique().to_list():
            kinds.setdefault(headers.known[header].stamp, []).append(header)
        counts = [_changes(points.filter(pl.col("header").is_in(of))["time"].to_numpy()) for of in kinds.values()]
        ups, downs = ups + sum(up for up, _ in counts), downs + sum(down for _, down in counts)
    falling = (ups + downs >= CHANGES and downs >= SHARE * (ups + downs)) or (not ups and downs >= ALL and lines >= LINES)
    if ups and not falling:
        return "up"
    forward, backward = _tracebacks(rows)
    if falling:
        return "down" if forward <= backward else "records"
    return "down" if backward and not forward else "up"


def _changes(stamps: Nanos) -> tuple[int, int]:
    steps: npt.NDArray[np.int64] = np.diff(stamps[stamps != NO_TIME])
    return int(np.count_nonzero(steps > 0)), int(np.count_nonzero(steps < 0))


def _points(one: Digest) -> pl.DataFrame:
    """What a digest knows of its stamps: the kept lines', and the first and last of each header."""
    ends = [(place, number, time, outer) for number, use in one.uses.items() for place, time, outer in (
        (use.first_line, use.first_time, use.first_envelope), (use.last_line, use.last_time, use.last_envelope))]  # fmt: skip
    names = ("line", "header", "time", "envelope_time")
    more = pl.DataFrame(ends, dict.fromkeys(names, pl.Int64), orient="row")
    return pl.concat([one.rows.select(names).cast(pl.Int64), more]).unique("line").sort("line")


def _tracebacks(rows: pl.DataFrame) -> tuple[int, int]:
    """How many tracebacks have their frames below their heads, and how many above."""
    forward = backward = 0
    lines, headers, messages = rows["line"], rows["header"], rows["message"]
    for place in messages.str.ends_with("Traceback (most recent call last):").arg_true().to_list():
        for near, step in ((place - 1, -1), (place + 1, 1)):
            if 0 <= near < len(lines) and lines[near] == lines[place] + step and headers[near] == headers[place] and messages[near].startswith('  File "'):
                forward, backward = forward + (step > 0), backward + (step < 0)
    return forward, backward


def _goes_down(head: bytes, extractor: Extractor) -> bool:
    """Whether the first lines of a pipe go from the newest to the oldest."""
    for data, used, _ in chunks(io.BytesIO(head[: head.rfind(b"\n") + 1]), PEEK):
        rows = extractor.chunk(data, used)
        places = np.arange(len(rows), dtype=np.int64)
        known = pl.DataFrame({"line": places, "header": rows.header, "time": rows.time, "envelope_time": rows.envelope_time})
        return order(known, known.with_columns(rows.messages(places)), extractor.headers, len(rows)) == "down"
    return False


def _turned(source: Source, stream: BinaryIO, extractor: Extractor, gates: Gates, progress: Callable[[str, int], None] | None, aside: Spool | None) -> Digest:
    """Digest a stream's lines from the last to the first."""
    with tempfile.TemporaryFile() as spool:
        try:
            for block in from_the_end(stream):
                spool.write(block)
        finally:
            stream.close()
        spool.seek(0)
        one = digest(replace(source, open=lambda: spool), extractor, gates, progress, aside)
    one.source = source
    one.notices.append(_NOTICE)
    up = MIRROR - one.lines - 1
    if len(one.rows):
        one.rows = one.rows.with_columns(pl.col("line") + up)
    for use in one.uses.values():
        use.first_line += up
        use.last_line += up
    return one


def from_the_end(stream: BinaryIO, step: int = STEP) -> Iterator[bytes]:
    """The lines of a stream, last one first, in blocks; what cannot be read from any place is copied to a temporary file."""
    with tempfile.TemporaryFile() as copy:
        file: IO[bytes] = stream if isinstance(stream, io.FileIO) else copy
        if file is copy:
            while block := _read(stream, step):
                copy.write(block)
        place = file.seek(0, io.SEEK_END)
        rest = b""
        while place:
            size = min(place, step)
            place = file.seek(place - size)
            block = _read(file, size) + rest  # type: ignore[arg-type]
            cut = block.find(b"\n") + 1 if place else 0
            if place and not cut:
                rest = block
                continue
            rest, lines = block[:cut], block[cut:].removesuffix(b"\n").split(b"\n")
            if len(block) > cut:
                yield b"\n".join(reversed(lines)) + b"\n"
        if rest:
            yield rest


def _read(stream: BinaryIO, size: int) -> bytes:
    """``size`` bytes, or what is left."""
    data = bytearray(size)
    end, got = 0, 1
    with memoryview(data) as view:
        while end < size and got:
            got = stream.readinto(view[end:]) or 0  # type: ignore[attr-defined]
            end += got
    return bytes(data[:end])


class _Again(io.RawIOBase):
    """A pipe with what was read of it put back."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._left = memoryview(head)
        self._stream = stream

    def readinto(self, target: Any) -> int:
        if not self._left:
            return self._stream.readinto(target) or 0  # type: ignore[attr-defined]
        size = min(len(target), len(self._left))
        target[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        self._stream.close()
        super().close()


def shift(one: Digest) -> int:
    """What was added to the numbers of a digest's lines, counted in the order of reading: 0 where it was read from its beginning."""
    return MIRROR - one.lines - 1 if any(use.first_line > MIRROR // 2 for use in one.uses.values()) else 0


def places(lines: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places in the log of lines with such numbers."""
    return np.where(lines > MIRROR // 2, MIRROR - lines, lines)


def restored(result: _T, digests: Sequence[Digest]) -> _T:
    """The places of lines as they are in logs that were read from their end, in all of a result."""
    names = [f"{one.source.name}:" for one in digests if shift(one)]
    if names:
        _restore(result, names)
    return result


def _restore(value: Any, names: list[str]) -> Any:
    if isinstance(value, int):
        return MIRROR - value if value > MIRROR // 2 else value
    if isinstance(value, str):
        for name in names:
            first, *others = value.split(name)
            value = name.join([first, *(_told(other) for other in others)])
    elif isinstance(value, list):
        value[:] = [_restore(one, names) for one in value]
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            inner = getattr(value, one.name)
            if one.name == "line" or not isinstance(inner, int):
                setattr(value, one.name, _restore(inner, names))
    return value


def _told(text: str) -> str:
    """A text that begins with the number of a line."""
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    return f"{_restore(int(digits), [])}{text[len(digits) :]}" if digits else text
