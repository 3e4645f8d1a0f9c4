"""Kept lines -> events: lines of one record together, one exception with its chain as one event.

Lines of several processes interleave, so each stream of lines (one process, one wrapper) builds its own records.
"""

from __future__ import annotations

from collections.abc import Iterator

from k3logs.events.digest import Digest
from k3logs.events.growing import HEADS, Growing, begin, finish, take
from k3logs.events.headers import Header
from k3logs.events.record import Event, Line

MAX_LINES = 2_000
"""Lines of one record; what comes after starts a new one."""

_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL", "WARNING", "E"})
"""Levels of records that may have a traceback below."""

_GAP, _FAR = 3, 2_000
"""Lines apart, at most, for a line to go on with the record above it: where processes cannot be told apart, and where they can."""

_WHO = frozenset({"process", "pid", "rank", "local_rank", "job_rank"})
"""Header fields that tell processes apart."""


def stream_of(header: Header) -> tuple[str, ...]:
    """Identity of the stream that a line belongs to: all its header says about who printed it, but not how loud."""
    return tuple(v for k, v in sorted(header.fields.items()) if k not in ("level", "func", "cuda_dev", "facility", "severity", "logger", "partial"))


def build(digest: Digest, lines: Iterator[Line], source: int) -> list[Event]:
    """Events of one source, in the order of their first lines."""
    streams: dict[int, tuple[str, ...]] = {}
    open_: dict[tuple[str, ...], Growing] = {}
    done: list[Event] = []
    known = digest.headers.known
    told_apart: set[tuple[str, ...]] = set()
    loud: tuple[int, tuple[str, ...]] | None = None

    def close(stream: tuple[str, ...]) -> None:
        record = open_.pop(stream, None)
        if record is not None:
            _finish(record)
            done.append(record.event)

    for line in lines:
        stream = streams.get(line.header)
        if stream is None:
            stream = streams[line.header] = stream_of(known[line.header])
            if _WHO & known[line.header].fields.keys():
                told_apart.add(stream)
        if known[line.header].dialect is None and loud is not None and line.number <= loud[0] + 1 and loud[1] in open_ and _below(open_[loud[1]], line, known):
            stream = loud[1]  # logging.exception prints record and traceback in one write
            if open_[stream].key is not None:
                open_[stream].key, open_[stream].state = None, "below"
        record = open_.get(stream)
        dialect = known[line.header].dialect
        # only records with a place in the source repeat their header on further lines; any other line stands alone
        key = (line.header, line.time, line.site or str(line.number)) if dialect else None
        if record is not None and (
            record.key != key or record.lines >= MAX_LINES or (key is None and line.number - record.last > (_FAR if stream in told_apart else _GAP))
        ):
            close(stream)
            record = None
        if record is None or not take(record, line):
            close(stream)
            record = open_[stream] = Growing(Event(source, line, line.message), key, line.number)
            record.event.last = line.number
            begin(record, line)
        record.last = record.event.last = line.number
        record.lines += 1
        if known[line.header].level in _LOUD or (known[line.header].dialect is None and loud is not None and stream == loud[1]):
            loud = (line.number, stream)
    for stream in list(open_):
        close(stream)
    done.sort(key=lambda e: (e.first.number, e.first.part))
    for n, event in enumerate(done):
        event.order = n
    return done


def _below(record: Growing, line: Line, known: list[Header]) -> bool:
    """Whether an untagged line can be the traceback below a loud record: the same wrapper, and the record has no other."""
    outer, inner = known[line.header].fields, known[record.event.first.header].fields
    name = line.form.rpartition(".")[2]
    return all(inner.get(k) == v for k, v in outer.items()) and (record.key is None or (name in HEADS and not record.event.chain))


def _finish(record: Growing) -> None:
    event = record.event
    finish(record)
    if not event.chain and record.state == "frames":
        event.open_frames = record.frames
