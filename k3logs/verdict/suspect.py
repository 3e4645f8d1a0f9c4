"""A failure as the verdict shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k3logs.clocks.when import Times
from k3logs.events.digest import Digest
from k3logs.events.record import Event, Line
from k3logs.identity.cast import Cast
from k3logs.identity.process import Process
from k3logs.incidents.crash import Choice
from k3logs.incidents.failure import Failure
from k3logs.incidents.fingerprint import fingerprint
from k3logs.incidents.milestones import lagging, passed
from k3logs.incidents.phase import Mark, furthest, of_failure
from k3logs.model import ContextLine, ExceptionText, Suspect
from k3logs.verdict.category import category_of
from k3logs.verdict.confidence import confidence

CONTEXT = 3
"""Kept lines shown before and after an evidence line."""


def suspect(failure: Failure, choice: Choice, digests: Sequence[Digest], cast: Cast, times: Times, marks: Sequence[Mark], running: tuple[set[int], set[int]], failures: Sequence[Failure], leads: bool) -> Suspect:
    """Show a failure: as the root where it ``leads``, else as another candidate."""
    line = _anchor(failure)
    process = failure.process
    rank = failure.victim_rank if failure.victim_rank is not None else process.rank if process else None
    if leads and not choice.blames:
        rank = None
    victim = cast.ranked(rank, failure.node) if rank is not None and failure.victim_rank is not None else None
    elsewhere = failure.victim_node is not None and failure.victim_node != failure.node  # its teller is none of it
    shown = victim or (process if (choice.blames or not leads) and not elsewhere else None)
    if leads and choice.kind == "spmd" and len(choice.ranks) > 1:
        rank = None
    ranks = choice.ranks if leads and choice.ranks else [rank] if rank is not None else []
    phase = _phase_behind(failure, victim, marks, cast) or phase_of(failure, marks, digests, running, failures, victim)
    penalties = [*choice.penalties, *failure.doubts]
    if rank is None and not ranks and (cast.ranks or _in_worker(failure)) and choice.kind != "spmd" and not choice.rule.startswith("pointer.") and (process is None or process.kind not in ("api", "engine", "launcher")):
        penalties.append("rank not known")
    if not failure.observed:
        penalties.append("not observed")
    if cast.conflicts:
        penalties.append("conflicting identity")
    sure = confidence(choice.rule, penalties)
    known = line.time is not None and (failure.low != float("-inf") or failure.high != float("inf"))
    details: dict[str, Any] = dict(failure.fields)
    if not failure.observed:
        details["observed"] = False
    text = failure.text
    exception = None
    if failure.event.chain:
        link = failure.event.chain[failure.link]
        exception = ExceptionText(link.type, link.message, link.frames)
    role = "initiating" if leads and failure.role not in ("unknown",) else failure.role
    return Suspect(
        rank=rank,
        ranks=ranks,
        node=None if leads and choice.between else _node(failure, victim, cast),
        process=(shown.name if shown else None) or _opening(failure),
        pid=shown.pid if shown else None,
        time=_nanos(failure.low if failure.low != float("-inf") else failure.high) if known else None,
        time_low=_nanos(failure.low) if known else None,
        time_high=_nanos(failure.high) if known else None,
        source=digests[failure.event.source].source.name,
        line=line.number,
        raw=line.raw,
        message=text.split("\n")[0] if len(text.split("\n")[0]) > 12 else " ".join(text.split("\n")[:2]),
        exception=exception,
        signature=failure.id,
        role=role if role in ("initiating", "cascade", "teardown", "benign") else "unknown",  # type: ignore[arg-type]
        phase=phase,
        category=_category(failure, phase, choice) if leads else category_of(failure, phase),
        confidence=sure if leads else round(sure * 0.5, 2),
        why=[*choice.why, *failure.reasons] if leads else failure.reasons or ["another failure that could be first"],
        details=details,
        stamp=None,
        time_basis=times.clocks[failure.event.source].basis if known else "none",  # type: ignore[arg-type]
        fingerprint=fingerprint(failure),
        title=failure.signature.title if failure.signature else None,
        rule=choice.rule if leads else "",
        context=_context(digests[failure.event.source], line),
    )


def phase_of(failure: Failure, marks: Sequence[Mark], digests: Sequence[Digest], running: tuple[set[int], set[int]], failures: Sequence[Failure], victim: Process | None = None) -> str:
    """What the process of a failure was doing when it failed."""
    return of_failure(failure, marks, failure.event, _echoes(failure, failures), running, _grouped(digests, failures), victim or failure.process)


def _in_worker(failure: Failure) -> bool:
    """Whether a stack is that of one of several workers (vllm/v1/executor/multiproc_executor.py)."""
    return any(frame.partition(" > ")[0].endswith(" worker_main") for frame in failure.event.frames)


def _phase_behind(failure: Failure, victim: Process | None, marks: Sequence[Mark], cast: Cast) -> str | None:
    """How far a rank came that others wait for, where its own lines lack a milestone of all others: the witness's phase is none of it."""
    behind = lagging(passed(marks, cast)) if failure.victim_rank is not None else None
    if behind is None or victim is None or behind[0] != failure.victim_rank:
        return None
    return furthest([m for m in marks if m.process == victim.id])


def _node(failure: Failure, victim: Process | None, cast: Cast) -> str | None:
    """The node of the rank that is blamed: the witness's own is none of it, where another rank is meant."""
    known = failure.victim_node or (victim.node if victim else None) or (cast.node_around(failure.victim_rank) if failure.victim_rank is not None else None)
    witness = failure.process.rank if failure.process is not None else None
    other = failure.victim_rank is not None and witness is not None and witness != failure.victim_rank
    return known or (None if other else failure.node)


def _category(failure: Failure, phase: str, choice: Choice) -> str:
    """Of a consequence that leads because nothing else is there, only that the path between ranks is in trouble can be said."""
    category = category_of(failure, phase)
    if choice.rule.startswith("cascade.") and category not in ("network", "interconnect", "communication"):
        return "unknown"
    return category


def _echoes(failure: Failure, failures: Sequence[Failure]) -> list[Event]:
    """Events of other processes that quote this failure's message."""
    says = failure.text.partition(": ")[2].split("\n")[0][:60] or failure.text[:60]
    return [f.event for f in failures if f.signature is not None and f.signature.quotes and says in f.text]


def _grouped(digests: Sequence[Digest], failures: Sequence[Failure]) -> bool:
    """Whether torch's own rank prefix stands before any failure: it is printed only once the process group is there."""
    return any("rank.spaced" in (forms := digests[f.event.source].headers.known[f.event.first.header].forms) or "rank.glued" in forms for f in failures)


def _anchor(failure: Failure) -> Line:
    event = failure.event
    return event.chain[failure.link].line if event.chain else event.first


def _opening(failure: Failure) -> str | None:
    """The process that ``Process EngineCore:`` names above an untagged traceback."""
    opening = failure.event.opening
    return opening.fields.get("process") if opening is not None else None


def _nanos(seconds: float) -> int | None:
    return int(seconds * 1e9) if abs(seconds) != float("inf") else None


def _context(digest: Digest, line: Line) -> list[ContextLine]:
    rows = digest.rows
    numbers = rows["line"]
    place = int(numbers.search_sorted(line.number))
    low, high = max(place - CONTEXT, 0), min(place + CONTEXT + 1, len(rows))
    return [ContextLine(n, raw, n == line.number) for n, raw in zip(numbers[low:high].to_list(), rows["raw"][low:high].to_list(), strict=True)
            if abs(n - line.number) <= 4 * CONTEXT]
