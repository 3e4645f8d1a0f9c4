"""What the ordinary lines say: how far each process came, whether it went on, and when it was told to stop."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from k3logs.clocks.when import Times
from k3logs.events.digest import Digest
from k3logs.events.record import Event
from k3logs.identity.cast import Cast
from k3logs.incidents.phase import Mark, mark_of, milestone, table
from k3logs.incidents.roles import Progress, Stop
from k3logs.incidents.runs import Attempts

if TYPE_CHECKING:
    from k3logs.signatures.catalog import Catalog

DOCUMENT = 4_000
"""Bytes per line beyond which a source in which nothing was read is a document, not a log."""

_QUIET_NO = frozenset({"ERROR", "CRITICAL", "FATAL", "E", "F", "WARN", "WARNING", "W"})


@cache
def stop_texts() -> tuple[tuple[str, ...], frozenset[str]]:
    """Texts of an ordered stop: parts of messages, and whole messages."""
    data = tomllib.loads((Path(__file__).parent / "data" / "stops.toml").read_text())
    return tuple(data["asked"]), frozenset(data["asked_exactly"])


def marks(digests: Sequence[Digest], events: Sequence[Event], cast: Cast, times: Times) -> list[Mark]:
    """All lifecycle marks, by source and line."""
    found = []
    running, connected = table().running, table().connected
    vllm = any(not e.chain and mark_of(e.text) in ("config", "device_init") for e in events)
    for event in events:
        phase, words = (milestone(event.text) if not event.chain else None) or (None, "")
        if phase is None and not vllm and not event.chain and any(t in event.text for t in connected):
            phase = "serving"
        if phase is not None:
            process = cast.of_event(event)
            low = times.aligned(event.source, event.first, cast.node_of_event(event))[0]
            found.append(Mark(process.id if process else None, process.kind if process else "other", event.source, event.first.number, low, phase, words))
    told = {m.source for m in found if m.phase == "serving"}
    for number, digest in enumerate(digests):
        for header, use in digest.uses.items():
            if number not in told and any(text in use.last_text for text in running):
                process = cast.of_header.get((number, header))
                # where no line says when it began, it has served since its first line, for all we know
                found.append(Mark(process.id if process else None, process.kind if process else "other", number, use.first_line, float("inf"), "serving"))
    return sorted(found, key=lambda m: (m.source, m.line))


def stops(events: Sequence[Event], cast: Cast, times: Times, attempts: Attempts) -> list[Stop]:
    """The first ordered stop of each attempt in each source."""
    parts, whole = stop_texts()
    found: dict[tuple[int, int], Stop] = {}
    for event in events:
        text = event.text.strip()
        place = (event.source, attempts.of(event.source, event.first.number))
        if place in found or event.chain or not (text in whole or any(p in text for p in parts)):
            continue
        low = times.aligned(event.source, event.first, cast.node_of_event(event))[0]
        found[place] = Stop(event.source, event.first.number, low)
    return list(found.values())


def progress(digests: Sequence[Digest], cast: Cast, catalog: Catalog, times: Times) -> dict[int, Progress]:
    """For each process its last ordinary output: not loud, and nothing that a clean-up prints."""
    from k3logs.signatures.match import claim

    done: dict[int, Progress] = {}
    places = [(number, header, use.last_text) for number, digest in enumerate(digests) for header, use in digest.uses.items()]
    hit = pl.Series([text for *_, text in places], dtype=pl.String).str.contains(table().progress).to_list()
    steps = {place[:2] for place, yes in zip(places, hit, strict=True) if yes}
    for number, digest in enumerate(digests):
        for header, use in digest.uses.items():
            process = cast.of_header.get((number, header)) or cast.alone.get(number)
            known = digest.headers.known[header]
            if process is None or known.level in _QUIET_NO or not use.last_text.strip() or not (known.dialect or (number, header) in steps):
                continue
            id, _ = claim(catalog, use.last_text)
            signature = catalog.by_id(id) if id else None
            if signature is not None and signature.role != "benign":
                continue
            mine = done.setdefault(process.id, Progress())
            if mine.last.get(number, (0, None))[0] < use.last_line:
                when = times.moment(number, header, use.last_time, use.last_envelope, cast.header_node.get((number, header)))
                mine.last[number] = (use.last_line, when)
    return done



def running(digests: Sequence[Digest], cast: Cast) -> tuple[set[int], set[int]]:
    """Processes, and sources, whose last ordinary lines are progress of a loop (``step=7``)."""
    rows = [(process.id if process else None, number, use.last_text) for number, digest in enumerate(digests) for header, use in digest.uses.items()
            for process in [cast.of_header.get((number, header)) or cast.alone.get(number)]]
    if not rows:
        return set(), set()
    hit = pl.Series([text for *_, text in rows]).str.contains(table().progress).to_list()
    good = [row for row, yes in zip(rows, hit, strict=True) if yes]
    return {id for id, _, _ in good if id is not None}, {source for _, source, _ in good}


def known(digests: Sequence[Digest], found: Sequence[Mark]) -> bool:
    """Whether the logs hold anything this tool speaks: a lifecycle mark or lines of a specific dialect."""
    if digests and all(not d.parsed and d.bytes > DOCUMENT * max(d.lines, 1) for d in digests):
        return False  # a whole document in one line: an export that nothing here unpacks
    if not any(d.parsed for d in digests):
        # nothing was read but texts that stand in lines of some other form; a job that prints its progress is known all the same
        last = pl.Series([use.last_text for d in digests for use in d.uses.values()], dtype=pl.String)
        return bool(last.str.contains(table().progress).any())
    names = {name for digest in digests for name in digest.by_dialect}
    return bool(found) or bool(names - {"untagged"})


def last_seen(digests: Sequence[Digest], cast: Cast, times: Times) -> dict[int, float]:
    """Rank -> aligned time of the last line it printed, seconds."""
    seen: dict[int, float] = {}
    for number, digest in enumerate(digests):
        for header, use in digest.uses.items():
            process = cast.of_header.get((number, header))
            if process is None or process.rank is None:
                continue
            moment = times.moment(number, header, use.last_time, use.last_envelope, cast.header_node.get((number, header)))
            if moment is not None:
                seen[process.rank] = max(seen.get(process.rank, moment), moment)
    return seen
