"""Logs -> the event table. They are read as triage does, and what is known of each line is kept aside; once it is clear who is who, and when, the table is made of that."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO

import numpy as np
import polars as pl

from k3logs import redact, schema
from k3logs.clocks.when import LATE, Times
from k3logs.clocks.window import Window
from k3logs.errors import InputError
from k3logs.events.backward import from_the_end, shift
from k3logs.events.digest import Digest
from k3logs.events.gates import Gates
from k3logs.events.records import stream_of
from k3logs.events.spool import Spool, Spooled
from k3logs.events.stamps import NO_TIME, has_year
from k3logs.events.table import Table, Who
from k3logs.events.tellings import PARTS, Told
from k3logs.events.timing import Clock
from k3logs.grammar import bundle
from k3logs.identity.cast import Cast
from k3logs.identity.process import parallel_of
from k3logs.incidents import phase
from k3logs.incidents.decide import decide
from k3logs.sources.find import Arguments, find
from k3logs.sources.pipes import spooled
from k3logs.sources.source import Source
from k3logs.triage import Options, Study, digest_all, load_catalog, study
from k3logs.verdict.suspect import phase_of

Progress = Callable[[str, int], None]

_ROLES = frozenset(schema.ROLES)


def read(sources: Arguments, *, options: Options | None = None) -> pl.DataFrame:
    """The event table of logs, in memory: one row per line.

    Args:
        sources: a file, folder or archive, or several, or ``-`` for standard input.

    Returns:
        a frame with the columns of :mod:`k3logs.schema`.

    Raises:
        InputError: a source that does not exist or cannot be read at all.
        AuthorError: a grammar or signature file that its author must mend.
    """
    notices: list[str] = []
    with _few_collections():
        return pl.concat(_all_frames(find(sources, notices), Spool(in_memory=True), options or Options(), None, notices))


def iter_frames(sources: Arguments, *, options: Options | None = None, progress: Progress | None = None,
                notices: list[str] | None = None) -> Iterator[pl.DataFrame]:  # fmt: skip
    """The event table of logs, some megabytes of log at a time; see :func:`read`.

    Args:
        progress: called with a source's name and the bytes read so far, for each of the two readings.
        notices: gets a sentence for each thing that was odd about the logs, before the first frame comes.

    Yields:
        at least one frame, which may be empty.
    """
    notices = [] if notices is None else notices
    yield from _all_frames(_rereadable(find(sources, notices)), Spool(), options or Options(), progress, notices)


def _all_frames(found: list[Source], spool: Spool, options: Options, progress: Progress | None, notices: list[str]) -> Iterator[pl.DataFrame]:
    """The event table of logs that are already found."""
    grammars, catalog = bundle.load(options.grammars), load_catalog(options.signatures)
    gates = Gates(failure=catalog.gate_literals(), fact=phase.table().literals, odd=redact.gate_without_digits())
    digests = digest_all(found, grammars, gates, notices, progress, spool)
    notices += [f"{one.source.name}: {notice}" for one in digests for notice in one.notices]
    if any(one.source.lost for one in digests) and not any(one.lines for one in digests):
        raise InputError("; ".join(notices[:3]), "check that the logs are whole")
    empty = True
    if digests:
        for frame in _tables(digests, study(digests, grammars, catalog, Window(options.window.zone)), progress):
            empty = False
            yield frame
    if empty:
        yield pl.DataFrame(schema=schema.dtypes())


def _tables(digests: Sequence[Digest], found: Study, progress: Progress | None) -> Iterator[pl.DataFrame]:
    """Go through all sources again, with what is known of them."""
    told = _told(found, digests)
    cast, times = found.scene.cast, found.scene.times
    record = 0
    for number, one in enumerate(digests):
        if one.spooled is None:
            continue
        table = Table(one.source.name, one.headers.known, one.spooled.sites.texts, _who(cast, times, one, number), _clock(times, one, number), told[number], record, shift(one))
        try:
            yield from _frames(one, one.spooled, table, progress)
        except OSError as error:
            raise InputError(f"cannot read {one.source.name} again: {error.strerror or error}", "read it once it no longer changes") from error
        record = table.numbering.next


def _frames(one: Digest, spooled: Spooled, table: Table, progress: Progress | None) -> Iterator[pl.DataFrame]:
    """Look up the texts of one source again."""
    stream = None if spooled.spool.in_memory else _forward(one)
    try:
        for rows, done in spooled.read(stream):
            yield table.frame(rows)
            if progress is not None:
                progress(one.source.name, done)
    finally:
        if stream is not None:
            stream.close()


@contextmanager
def _few_collections() -> Iterator[None]:
    """While a table is made, Python rarely looks for objects in cycles: many objects are made, and few of these."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


# ---- reading twice -----------------------------------------------------------------
def _rereadable(found: list[Source]) -> list[Source]:
    """Sources that can all be opened twice: what comes through a pipe is kept in a temporary file."""
    return [replace(source, open=spooled(source.open())) if source.once else source for source in found]


def _forward(one: Digest) -> BinaryIO:
    """A source in the order in which its digest read it."""
    if not shift(one):
        return one.source.open()
    spool = tempfile.TemporaryFile(buffering=0)
    with one.source.open() as stream:
        for block in from_the_end(stream):
            spool.write(block)
    spool.seek(0)
    return spool


# ---- what the first reading knows ------------------------------------------------------
def _who(cast: Cast, times: Times, one: Digest, source: int) -> Callable[[int], Who]:
    """What the cast knows of a header, by its number."""
    hints = one.source.hints

    def look_up(number: int) -> Who:
        fields = one.headers.known[number].fields
        process = cast.of_header.get((source, number)) or cast.alone.get(source)
        node = cast.header_node.get((source, number)) or cast.source_node.get(source)
        name = fields.get("process") or (process.name if process else None)
        own = {**(process.parallel if process else {}), **parallel_of(fields.get("process", ""))}
        pid, rank, local = _whole(fields.get("pid"), 62), _whole(fields.get("rank")), _whole(fields.get("local_rank"))
        return Who(
            node, fields.get("pod") or hints.get("pod"), fields.get("container") or fields.get("service") or hints.get("container"), name,
            pid if pid is not None else process.pid if process else None, _whole(fields.get("tid"), 62),
            process.rank if process and process.rank is not None else rank, local if local is not None else own.get("local_rank"),
            own.get("dp"), own.get("pp"), own.get("tp"), own.get("ep"), int(times.offset(node)[0] * 1e9),
        )  # fmt: skip

    return look_up


def _whole(text: str | None, bits: int = 31) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 and int(text) < 1 << bits else None


def _clock(times: Times, one: Digest, source: int) -> Clock:
    """A source's clock in whole nanoseconds."""
    clock = times.clocks[source]
    reference = clock.reference if clock.reference is not None else _some_time(one)
    lows, highs = (np.array([int(v * 1e9) if abs(v) != float("inf") else NO_TIME for v in values], np.int64) for values in (clock.lows, clock.highs))
    return Clock(int(clock.zone * 1e9), reference, int(LATE * 1e9), frozenset({"c10d"}), np.array(clock.lines, np.int64), lows, highs)


def _some_time(one: Digest) -> int:
    """A time near a log of which no line was kept: a stamp with a year, else the file's own."""
    known = one.headers.known
    stamps = [t for h, use in one.uses.items() for t in (use.first_envelope, use.first_time if has_year(known[h].stamp) else NO_TIME) if t != NO_TIME]
    return stamps[0] if stamps else one.source.modified or time.time_ns()


def _told(found: Study, digests: Sequence[Digest]) -> list[Told]:
    """What is known of each source's events."""
    scene = found.scene
    decision = decide(scene)
    signature: dict[int, str | None] = {}
    role: dict[int, str] = {}
    phases: dict[int, str] = {}
    exception: dict[int, int] = {}
    by_line = {(m.source, m.line): m.phase for m in found.marks if m.low != float("inf")}
    for number, failure in enumerate(scene.failures):
        leads = failure is decision.choice.root and decision.outcome != "no_failure"
        happened = phase_of(failure, found.marks, digests, found.running, scene.failures)
        for telling in (failure, *failure.copies):
            key = id(telling.event)
            signature[key] = telling.id
            role[key] = "initiating" if leads else failure.role if failure.role in _ROLES else "unknown"
            phases[key] = happened
            if telling.event.chain:
                exception[key] = number
    told = [Told() for _ in digests]
    order = [0] * len(digests)
    for event in found.events:
        mine, key = told[event.source], id(event)
        known = digests[event.source].headers.known
        # a traceback printed below its record is untagged, and so in another stream than the record
        for stream in dict.fromkeys(stream_of(known[line.header]) for line in (event.first, *(link.line for link in event.chain))):
            mine.add(stream, event.first.number * PARTS + event.first.part, event.last * PARTS + PARTS - 1, order[event.source], signature.get(key), role.get(key),
                     phases.get(key) or by_line.get((event.source, event.first.number)), exception.get(key))  # fmt: skip
        order[event.source] += 1
    return told
