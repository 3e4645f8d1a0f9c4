"""The line that a log travels, from bytes to verdict.

sources -> digests -> events -> identity -> clocks -> failures -> roles -> decision -> verdict
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from k3logs import paths
from k3logs.clocks.align import align
from k3logs.clocks.when import Times
from k3logs.clocks.window import Window
from k3logs.errors import InputError
from k3logs.events.backward import digest_either_way, restored
from k3logs.events.collect import Collector
from k3logs.events.digest import Digest
from k3logs.events.extract import Extractor
from k3logs.events.gates import Gates
from k3logs.events.record import Event
from k3logs.events.spool import Spool
from k3logs.grammar import bundle
from k3logs.identity import build as identity
from k3logs.identity import facts
from k3logs.incidents import alive, kernel, milestones, phase, roles, runs, survey, tellings
from k3logs.incidents.blame import name_of_task, name_workers
from k3logs.incidents.collectives import collectives
from k3logs.incidents.decide import Scene, decide
from k3logs.incidents.exits import attribute, exits
from k3logs.model import Verdict
from k3logs.signatures.catalog import Catalog, folders_key
from k3logs.sources.find import Arguments, find
from k3logs.sources.source import Source
from k3logs.verdict.assemble import assemble


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may set: further grammars and signatures, the zone of stamps, and the time in which failures are looked for."""

    grammars: tuple[Path, ...] = ()
    signatures: tuple[Path, ...] = ()
    window: Window = field(default_factory=Window)


def load_catalog(folders: Sequence[Path] = ()) -> Catalog:
    """The signatures of this installation and of ``folders``, compiled once; installations that share a cache each have a file of their own."""
    return Catalog.from_cache(paths.cache_folder() / f"signatures-{folders_key(folders)}.cache", extra=list(folders))


def triage(sources: Arguments, *, options: Options | None = None, progress: Callable[[str, int], None] | None = None) -> Verdict:
    """Read logs and say which rank failed first.

    Args:
        sources: a file, folder or archive, or several, or ``-`` for standard input.
        progress: called with a source's name and the bytes read so far.

    Raises:
        InputError: a source that does not exist or cannot be read at all.
        AuthorError: a grammar or signature file that its author must mend.
    """
    notices: list[str] = []
    return triage_sources(find(sources, notices), notices, options or Options(), progress)


def triage_sources(sources: Sequence[Source], notices: list[str], options: Options, progress: Callable[[str, int], None] | None = None) -> Verdict:
    """:func:`triage` of logs that are already found."""
    grammars = bundle.load(options.grammars)
    catalog = load_catalog(options.signatures)
    gates = Gates(failure=catalog.gate_literals(), fact=phase.table().literals)
    digests = digest_all(sources, grammars, gates, notices, progress)
    if options.window.narrows:
        notices.append("failures were looked for only in the time asked for (--since, --until)")
    verdict = judge(digests, grammars, catalog, notices, options.window)
    if options.window.narrows and verdict.outcome == "no_failure" and (whole := judge(digests, grammars, catalog, notices)).outcome != "no_failure":
        verdict.outcome, verdict.sentence = "inconclusive", f"No failure in the time asked for, but one lies outside of it: {whole.sentence}"
    lost = [f"{source.name}: {why}" for source in sources for why in source.lost]
    return unsure(verdict, lost[0]) if lost and verdict.outcome == "no_failure" else verdict


def digest_all(
    sources: Sequence[Source], grammars: bundle.Bundle, gates: Gates, notices: list[str], progress: Callable[[str, int], None] | None = None, spool: Spool | None = None
) -> list[Digest]:
    """Digest every source; what cannot be read is named in the notices and in ``Source.lost``. With a ``spool`` what is known of every line is kept there.

    Raises:
        InputError: none of them can be opened.
    """
    digests = []
    for source in sources:
        try:
            digests.append(digest_either_way(source, lambda: Extractor(grammars), gates, progress, spool))
        except OSError as error:
            source.lose(f"not read ({error.strerror or error})")
        notices += source.notices
    if sources and not digests:
        more = f"; and {len(notices) - 3} more" if len(notices) > 3 else ""
        raise InputError("; ".join(notices[:3]) + more, "check that the logs can be read")
    return digests


def unsure(verdict: Verdict, lost: str) -> Verdict:
    """A verdict of no failure on logs of which a part is missing: the failure may stand in that."""
    verdict.outcome, verdict.sentence = "inconclusive", f"No failure in what could be read, but not all of it could be ({lost})."
    verdict.missing = ["the logs that could not be read, whole", *verdict.missing]
    for run in verdict.runs:
        run.outcome = verdict.outcome if run.outcome == "no_failure" else run.outcome
    return verdict


@dataclass(frozen=True, slots=True)
class Study:
    """What digested logs hold, before anything is decided; ``running`` are processes and sources whose last lines are progress of a loop."""

    events: list[Event]
    scene: Scene
    marks: list[phase.Mark]
    running: tuple[set[int], set[int]]


def judge(digests: Sequence[Digest], grammars: bundle.Bundle, catalog: Catalog, notices: list[str], window: Window | None = None) -> Verdict:
    """The verdict on digested logs."""
    found = study(digests, grammars, catalog, window)
    return restored(assemble(decide(found.scene), found.scene, digests, found.events, catalog, found.marks, found.running, [*notices, *found.scene.cast.conflicts]), digests)


def study(digests: Sequence[Digest], grammars: bundle.Bundle, catalog: Catalog, window: Window | None = None) -> Study:
    """Who is in digested logs, when, and what failed."""
    collector = Collector(grammars)
    events = [event for number, d in enumerate(digests) for event in collector.events(d, number)]
    read = facts.read(events)
    cast = identity.build(digests, read)
    window = window or Window()
    times = Times(digests, time.time_ns(), window)
    align(times, read, cast)
    failures = tellings.tell(digests, events, catalog, cast)
    for failure in failures:
        failure.low, failure.high = times.aligned(failure.event.source, failure.event.anchor, failure.node)
    failures = [failure for failure in failures if window.holds(failure.low, failure.high)]
    marks = survey.marks(digests, events, cast, times)
    attempts = runs.attempts(events, marks)
    marks = [replace(m, attempt=attempts.of(m.source, m.line)) for m in marks]
    for failure in failures:
        failure.attempt = attempts.of(failure.event.source, failure.line)
    stops = [stop for stop in survey.stops(events, cast, times, attempts) if window.holds(stop.low, stop.low)]
    name_workers(failures, read, cast, attempts)
    merged = roles.merge_copies(failures)
    ends = exits(read, events, cast)
    ended = frozenset(e.process.id for e in ends if e.code > 0)
    signs = alive.signs(digests, events, cast, times)
    alive.answer(merged, signs)
    roles.assign(merged, cast, survey.progress(digests, cast, catalog, times), stops, attempts, ended, marks)
    alive.calm(merged, signs, digests, attempts, times, cast)
    kernel.rezone(merged, digests, times)
    kernel.set_aside(merged, signs, read, cast, digests)
    attribute(merged, ends)
    name_of_task(merged, cast)
    running = survey.running(digests, cast)
    scene = Scene(merged, cast, times, stops, phase.furthest(marks), survey.known(digests, marks), collectives(merged), survey.last_seen(digests, cast, times), ends,
                  any(m.kind in ("api", "engine") or m.phase in ("config", "device_init") for m in marks), attempts, read, signs,
                  milestones.passed(marks, cast))
    return Study(events, scene, marks, running)
