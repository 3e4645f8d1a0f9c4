"""Logs given as text, read as far as a test needs them: events, processes, clocks, failures, verdict."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from k3logs.clocks.align import align
from k3logs.clocks.when import Times
from k3logs.events.collect import Collector
from k3logs.events.digest import Digest
from k3logs.events.gates import Gates
from k3logs.events.record import Event
from k3logs.grammar import bundle
from k3logs.identity import build as identity
from k3logs.identity import facts
from k3logs.identity.cast import Cast
from k3logs.incidents import phase
from k3logs.model import Verdict
from k3logs.signatures.catalog import Catalog
from k3logs.sources.names import hints
from k3logs.sources.source import Source
from k3logs.triage import digest_all, judge, load_catalog

NOW = 1_785_931_200 * 10**9
"""When the logs were last changed: 2026-08-05T12:00:00Z, ns."""

Logs = str | bytes | Mapping[str, str | bytes]


@cache
def tools() -> tuple[bundle.Bundle, Catalog, Gates]:
    """Grammars, signatures and gates, loaded once."""
    catalog = load_catalog()
    return bundle.load(()), catalog, Gates(failure=catalog.gate_literals(), fact=phase.table().literals)


def sources(logs: Logs) -> list[Source]:
    """One text is a pipe; several have names."""
    named = {"-": logs} if isinstance(logs, (str, bytes)) else logs
    found = []
    for name, text in named.items():
        data = text.encode() if isinstance(text, str) else text
        found.append(Source(name, lambda data=data: io.BytesIO(data), {} if name == "-" else hints(name), NOW))  # type: ignore[misc]
    return found


def digested(logs: Logs) -> list[Digest]:
    """What triage keeps of the logs."""
    grammars, _, gates = tools()
    return digest_all(sources(logs), grammars, gates, [])


def events(logs: Logs) -> list[Event]:
    """The records of the logs, source by source."""
    collector = Collector(tools()[0])
    return [event for number, one in enumerate(digested(logs)) for event in collector.events(one, number)]


def raised(logs: Logs) -> list[Event]:
    """The records that hold exceptions."""
    return [event for event in events(logs) if event.chain]


@dataclass(slots=True)
class Scene:
    """Who is in the logs, and when."""

    digests: list[Digest]
    events: list[Event]
    facts: list[facts.Fact]
    cast: Cast
    times: Times


def scene(logs: Logs) -> Scene:
    """Processes and clocks of the logs."""
    digests = digested(logs)
    collector = Collector(tools()[0])
    found = [event for number, one in enumerate(digests) for event in collector.events(one, number)]
    read = facts.read(found)
    cast = identity.build(digests, read)
    times = Times(digests, NOW)
    align(times, read, cast)
    return Scene(digests, found, read, cast, times)


def verdict(logs: Logs) -> Verdict:
    """The answer on the logs."""
    grammars, catalog, _ = tools()
    return judge(digested(logs), grammars, catalog, [])
