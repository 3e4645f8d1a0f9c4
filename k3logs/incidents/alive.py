"""Did the deployment go on serving? Then an error before that ended nothing, however loud it was."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from k3logs.clocks.when import Times
from k3logs.events.digest import Digest
from k3logs.events.record import Event
from k3logs.identity.cast import Cast
from k3logs.incidents.failure import Failure
from k3logs.incidents.fingerprint import fingerprint
from k3logs.incidents.phase import mark_of, table
from k3logs.incidents.runs import Attempts

NOTICED = 30.0
"""Seconds after which what a server prints shows that its engine lives: statistics are of the last 10 s, an end is noticed late."""

KERNEL = ("XID", "SXID", "KERN")
"""Families of signatures that the kernel prints."""

AGENT = "ELASTIC"
"""Family of signatures of a launcher that saw a worker fail."""

OWN = "VLLM"
"""Family of signatures that only the deployment prints, wherever it runs."""

AFTER = 120.0
"""Seconds in which trouble may follow from the kernel's report."""

ANSWERED = 30.0
"""Seconds between a worker's error and the engine's answer to the call that it was part of."""

GOES_ON = 100
"""Lines behind a failure in a log without stamps after which its job's progress shows that it goes on."""

UNTIED = 600.0
"""Seconds by which clocks that nothing ties are taken to differ at most, where a server works on for longer than that."""

QUOTE = 45.0
"""Seconds by which a line's own stamp is older than its wrapper's, where others' are not, that make it a quoted line."""

_MAY_BE = frozenset({"initiating", "first", "loud", "symptom", "cascade"})


@dataclass(frozen=True, slots=True)
class Sign:
    """One line that shows a deployment at work: place, latest aligned time (seconds or None), whether it had just begun to serve, whether it ended well."""

    source: int
    unit: str
    line: int
    when: float | None
    began: bool
    finished: bool = False


def unit_of(fields: dict[str, str]) -> str:
    """What tells deployments in one stream apart: pod and container, or compose service."""
    return "/".join(fields[name] for name in ("pod", "container", "service") if name in fields)


def signs(digests: Sequence[Digest], events: Sequence[Event], cast: Cast, times: Times) -> list[Sign]:
    """All signs of a deployment at work: each start of serving, and the last work of each server."""
    found = []
    for event in events:
        if not event.chain and any(text in event.text for text in _data()["finished"]):
            found.append(Sign(event.source, unit_of(digests[event.source].headers.known[event.first.header].fields), event.first.number, None, False, finished=True))
        elif not event.chain and mark_of(event.text) == "serving" and any(text in event.text for text in _data()["began"]):
            fields = digests[event.source].headers.known[event.first.header].fields
            began = times.aligned(event.source, event.first, cast.node_of_event(event))[1]
            found.append(Sign(event.source, unit_of(fields), event.first.number, began, True))
    last = [(number, header, use) for number, digest in enumerate(digests) for header, use in digest.uses.items()]
    works = pl.Series([use.last_text for *_, use in last], dtype=pl.String).str.contains(f"{_data()['works']}|{table().progress}").to_list()
    for (number, header, use), working in zip(last, works, strict=True):
        if working:
            when = times.moment(number, header, use.last_time, use.last_envelope, cast.header_node.get((number, header)))
            found.append(Sign(number, unit_of(digests[number].headers.known[header].fields), use.last_line, when, False))
    return found


def calm(failures: Sequence[Failure], found: Sequence[Sign], digests: Sequence[Digest], attempts: Attempts, times: Times, cast: Cast) -> None:
    """Failures before a sign of work of the same deployment and attempt ended nothing; quoted lines and sidecars' neither.

    Work that goes on clears a failure that stands alone. Where something ends within :data:`AFTER` seconds of it, the lines that
    go on may be those of another replica in the same stream.
    """
    speaking = _speaking(digests)
    # a server's lines go on in a merged log: they don't clear a report of the kernel about one of the deployment's ranks
    struck = [f for f in failures if f.id is not None and f.id.startswith(KERNEL) and f.process is not None and f.process.rank is not None]
    trouble = [f for f in failures if f.role in _MAY_BE | {"teardown"}]
    ended = tuple(_data()["ended"])
    for f in list(trouble):
        if f.role not in _MAY_BE or (f.id is not None and f.id.startswith(KERNEL)) or any(-5.0 <= f.low - k.low <= AFTER for k in struck):
            continue
        if (why := _foreign(f, digests, speaking, times)) is not None:
            f.role = "handled"
            f.reasons.append(why)
            continue
        alone = not any(t.event.text.startswith(ended) for t in [f, *f.copies]) and not any(
            o.event.source == f.event.source and _near(o, f) and _ends(o) and fingerprint(o) != fingerprint(f) for o in trouble)
        for sign in found:
            if sign.finished and sign.source == f.event.source and sign.line > f.event.last and not any(
                    o.event.source == sign.source and (o.id or "").startswith(AGENT) and o.line < sign.line and attempts.of(sign.source, o.line - 1) == attempts.of(sign.source, sign.line)
                    for o in failures):
                f.role = "handled"
                f.reasons.append("all workers ended well after it")
                break
            if (sign.began or alone) and _same_server(sign, f, digests, attempts) and (sign.began or _after(sign.when, f.high + NOTICED) or _long_after(sign, f)) \
                    or (alone and _other_node(sign, f, found, times, cast, trouble)):
                f.role = "handled"
                f.reasons.append("the deployment began to serve after it" if sign.began else "the deployment still served after it")
                break


def _ends(f: Failure) -> bool:
    """Whether a failure shows that something ended: an exception, a consequence, a clean-up; a warning alone does not."""
    return bool(f.event.chain) or f.role in ("cascade", "teardown")


def _near(o: Failure, f: Failure) -> bool:
    """Whether two failures are near in time; without stamps, in one log, they may be."""
    return abs(o.low - f.low) <= AFTER or (o.low == f.low == float("-inf"))


def _long_after(sign: Sign, f: Failure) -> bool:
    """Without stamps: whether a job's progress goes on for many lines behind a failure, more than other ranks print until they miss one."""
    return sign.when is None and not sign.finished and f.low == float("-inf") and sign.line - f.event.last > GOES_ON


def _after(when: float | None, moment: float) -> bool:
    return when is not None and moment != float("inf") and when > moment


def _same_server(sign: Sign, f: Failure, digests: Sequence[Digest], attempts: Attempts) -> bool:
    """Whether a sign stands behind a failure in the same source and unit: in its attempt, or in a later one where its own never served."""
    unit = unit_of(digests[f.event.source].headers.known[f.event.first.header].fields)
    return sign.source == f.event.source and sign.unit == unit and sign.line > f.event.last and (
        (attempt := attempts.of(sign.source, sign.line)) == f.attempt
        or (sign.began and attempt > f.attempt and attempts.reached.get((sign.source, f.attempt)) != "serving"))


def _other_node(sign: Sign, f: Failure, found: Sequence[Sign], times: Times, cast: Cast, trouble: Sequence[Failure]) -> bool:
    """Whether the one server of the deployment, on another node, worked on long after a failure, and met no trouble until then."""
    source = f.event.source
    if sign.source == source or {s.source for s in found} != {sign.source} or not cast.share_a_world(source, sign.source):
        return False
    if not times.clocks[source].zone_known or not times.clocks[sign.source].zone_known:
        return False
    bound = times.between(f.node, cast.source_node.get(sign.source))
    slack = UNTIED if bound == float("inf") else max(bound, 0.0)
    if not _after(sign.when, f.high + slack + (0.0 if sign.began else NOTICED)):
        return False
    return not any(o.event.source == sign.source and f.low - slack <= o.low <= (sign.when or 0.0) and _ends(o) for o in trouble)


def _foreign(f: Failure, digests: Sequence[Digest], speaking: dict[int, set[str]], times: Times) -> str | None:
    """Why a line is not of this deployment, None where it may be: a sidecar's, or quoted."""
    fields = digests[f.event.source].headers.known[f.event.first.header].fields
    unit = unit_of(fields)
    if unit and "host" not in fields and f.process is None and not (f.id or "").startswith(OWN) and f.event.source in speaking and unit not in speaking[f.event.source]:
        return f"it was printed by {unit}, where no process of the deployment runs"
    if (age := times.lag(f.event.source, f.event.first)) is not None and age > QUOTE:
        return f"its own stamp is {age:.0f} s older than its wrapper's: a line that was quoted"
    return None


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "data" / "stops.toml").read_text())


def answer(failures: Sequence[Failure], found: Sequence[Sign]) -> None:
    """Errors of a call that the engine handed back to who asked for it: requests that failed, on each rank that took part.

    Before the server began to serve it is the start-up that asks, and ends with the error.
    """
    words, again = tuple(_data()["answered"]), tuple(_data()["repeated"])
    calls = [t for f in failures for t in (f, *f.copies) if t.event.text.startswith(words) and "method failed" in t.event.text
             and any(s.source == t.event.source and (s.line > t.line or s.began) for s in found)]
    if not calls:
        return
    said = [(c.event.source, c.low, " ".join([c.event.text, *(link.text for link in c.event.chain)])) for c in calls]
    for f in failures:
        own = (f.text.partition(": ")[2] or f.text).split("\n")[0][:80]
        of_call = any(t in calls for t in (f, *f.copies)) or any(w in f.text and "method failed" in f.text for w in again)
        if f.role in _MAY_BE and (of_call or any(source == f.event.source and abs(low - f.low) <= ANSWERED and own in text for source, low, text in said)):
            f.role = "request"
            f.reasons.append("the engine handed it back to who had called, and went on")


def stalled(benign: Sequence[Failure], found: Sequence[Sign]) -> list[Failure]:
    """Notices of an engine that waits, repeated with no work after them."""
    hung = []
    servers = {s.source for s in found}
    for f in benign:
        last = max([f, *f.copies], key=lambda c: c.line)
        if len(f.copies) >= 2 and f.process is not None and f.process.kind == "engine" and any(text in f.text for text in _data()["stalls"]) \
                and not any((s.source == f.event.source and s.line > last.line)
                            or (f.event.source not in servers and s.when is not None and s.when > last.high) for s in found):
            hung.append(f)
    return hung


def _speaking(digests: Sequence[Digest]) -> dict[int, set[str]]:
    """Per source the units in which vLLM, torch or NCCL print."""
    units: dict[int, set[str]] = {}
    for number, digest in enumerate(digests):
        for header in digest.uses:
            known = digest.headers.known[header]
            if known.dialect and (unit := unit_of(known.fields)):
                units.setdefault(number, set()).add(unit)
    return units
