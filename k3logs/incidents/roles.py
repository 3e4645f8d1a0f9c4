"""What each failure is in this incident: the most that its text can be, lowered by what else the logs say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from k3logs.identity.cast import Cast
from k3logs.identity.process import Process
from k3logs.incidents.failure import Failure
from k3logs.incidents.fingerprint import fingerprint
from k3logs.incidents.phase import Mark, order, table
from k3logs.incidents.runs import Attempts

STOP_SLACK = 120.0
"""Seconds by which the clock of a node may be behind that of the one where a stop was asked for."""

RACE = 0.15
"""Seconds by which lines of one process's two streams may be out of order."""

_TERMINAL = ("WorkerProc failed", "WorkerProc hit an exception", "EngineCore failed", "EngineCore encountered a fatal error", "EngineCore hit an exception",
             "Exception in worker", "Error executing method", "Engine process failed to start")
"""Records of vLLM under which an exception ends its process (vllm/v1/executor/multiproc_executor.py, vllm/v1/engine/core.py)."""

_TIER = {"worker": 0, "kernel": 0, "other": 1, "engine": 2, "api": 3, "launcher": 4}
CANDIDATE = frozenset({"initiating", "first", "loud"})


@dataclass(slots=True)
class Progress:
    """What a process still did: per source, line and aligned time (seconds, or None) of its last ordinary output."""

    last: dict[int, tuple[int, float | None]] = field(default_factory=dict)

    def went_on(self, source: int, line: int, moment: float) -> bool:
        """Whether the process printed ordinary lines behind a line, and clearly after it.

        Standard output and standard error are two pipes: a line may come :data:`RACE` seconds late.
        """
        last, when = self.last.get(source, (0, None))
        return last > line and (when is None or moment == float("inf") or when > moment + RACE)


def merge_copies(failures: Sequence[Failure]) -> list[Failure]:
    """One failure told several times becomes one: worker, engine core, multiprocessing and API server each print it.

    Tellings by different ranks stay apart: then the same thing happened on each of them.
    """
    kept: list[Failure] = []
    groups: dict[tuple[str, int, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((fingerprint(failure), failure.attempt, _whom(failure)), []).append(failure)
    for group in groups.values():
        first_of: dict[int | None, Failure] = {}
        for failure in sorted(group, key=lambda f: (f.low, f.event.source, f.line)):
            rank = failure.process.rank if failure.process else None
            if rank in first_of:
                first_of[rank].copies.append(failure)
            else:
                first_of[rank] = failure
        nameless = first_of.pop(None, None)
        if nameless is not None and first_of and nameless.process is not None and nameless.process.kind == "worker":
            # a worker without a rank is none of those that have one; who tells it later repeats it
            later = [f for f in first_of.values() if f.low > nameless.low] if len(first_of) == 1 else []
            for f in later:
                nameless.copies += [f, *f.copies]
                first_of.clear()
            kept.append(nameless)
        elif nameless is not None and first_of and nameless.event.chain:
            owner = min(first_of.values(), key=lambda f: (f.low, f.line))
            owner.copies += [nameless, *nameless.copies]
        elif nameless is not None:
            kept.append(_best_teller([nameless, *nameless.copies]))
        kept += first_of.values()
    return sorted(kept, key=lambda f: (f.event.source, f.line))


def _whom(failure: Failure) -> str:
    """Of whom a report of a death speaks: two deaths told in the same words are two."""
    f = failure.fields
    return " ".join(f.get(k, "") for k in ("peer_pid", "worker", "peer_rank")) if {"exit_code", "signal", "worker"} & set(f) else ""


def _best_teller(group: list[Failure]) -> Failure:
    """Of tellings without a rank: the one nearest to the work, then the first."""
    best = min(group, key=lambda f: (_TIER[f.process.kind if f.process else "other"], f.low, f.event.source, f.line))
    best.copies = [f for f in group if f is not best]
    return best


@dataclass(slots=True)
class Stop:
    """A stop that was asked for: where it was first seen, and whether the deployment was serving by then."""

    source: int
    line: int
    low: float
    failure: Failure | None = None


def assign(failures: Sequence[Failure], cast: Cast, progress: dict[int, Progress], stops: Iterable[Stop], attempts: Attempts, ended: frozenset[int] = frozenset(),
           marks: Sequence[Mark] = ()) -> None:
    """Lower the roles that cannot stand.

    * what follows an ordered stop in the same source is tear-down, and what a clean-up function raises;
    * an error after which its process went on was handled, in the API server it was one request's;
    * a warning after which its process reached a later phase of its start-up was handled;
    * ``first``: a candidate unless its process failed before;
    * the only error of a process that ended with an error code (``ended``: process ids) was not handled;
    * a death whose process told its own failure before is its consequence.
    """
    only = {p: [f for f in failures if f.process is not None and f.process.id == p and f.event.chain] for p in ended}
    asked = [stop for stop in stops if not _after_trouble(stop, failures, attempts)]
    stopped = {(stop.source, attempts.of(stop.source, stop.line)): stop.line for stop in asked}
    for failure in failures:
        process = failure.process
        if failure.role in CANDIDATE | {"symptom", "cascade"} and failure.line > stopped.get((failure.event.source, failure.attempt), float("inf")):
            failure.role = "teardown"
            failure.reasons.append("printed after the stop that was asked for")
        elif failure.role in ("symptom", "cascade") and any(
                stop.source != failure.event.source and failure.low >= stop.low - STOP_SLACK and cast.share_a_world(stop.source, failure.event.source) for stop in asked):
            failure.role = "teardown"
            failure.reasons.append("another node of this deployment had been told to stop")
        elif failure.role in CANDIDATE and any(frame.partition(" > ")[0].rpartition(" ")[2] in table().teardown for frame in failure.event.frames):
            failure.role = "teardown"
            failure.reasons.append("it was raised while its process cleaned up")
        elif failure.role in CANDIDATE and any(part in frame for frame in failure.event.frames for part in table().request):
            failure.role = "request"
            failure.reasons.append("it was raised while a request was handled")
        elif process is not None and only.get(process.id) == [failure]:
            continue  # the only error of a process that ended with an error code
        elif failure.role in CANDIDATE | {"symptom"} and process is not None and _outlived(failure, process, marks, attempts):
            failure.role = "handled"
            failure.reasons.append(f"{process.label} came further in its start-up after it")
        elif failure.role in CANDIDATE and process is not None and _handled(failure, process, progress, attempts):
            failure.role = "request" if process.kind == "api" else "handled"
            failure.reasons.append(f"{process.label} went on after it")
    seen: dict[int, Failure] = {}
    for failure in sorted(failures, key=lambda f: (f.low, f.event.source, f.line)):
        if failure.role == "first":
            before = seen.get(failure.process.id) if failure.process else None
            failure.role = "cascade" if before is not None else "initiating"
            if before is not None:
                failure.reasons.append(f"{before.text.splitlines()[0][:80]!r} stands before it in the same process")
        if failure.role in ("initiating", "symptom", "cascade") and failure.process is not None:
            seen.setdefault(failure.process.id, failure)


def _after_trouble(stop: Stop, failures: Sequence[Failure], attempts: Attempts) -> bool:
    """Whether a stop follows a failure of the engine or of a worker: then nobody asked for it."""
    attempt = attempts.of(stop.source, stop.line)
    return any(f.event.source == stop.source and f.attempt == attempt and f.line < stop.line and (f.role == "cascade" or f.event.text.startswith(_TERMINAL))
               for f in failures)


def _outlived(failure: Failure, process: Process, marks: Sequence[Mark], attempts: Attempts) -> bool:
    """Whether a process that only printed a line, no exception, reached a later phase behind it."""
    if failure.event.chain:
        return False
    source, end = failure.event.source, attempts.last_line(failure.event.source, failure.attempt)
    own = [m for m in marks if m.process == process.id and m.source == source]
    before = max((order(m.phase) for m in own if m.line < failure.line), default=-1)
    return any(failure.event.last < m.line <= end and order(m.phase) > before and m.words and m.phase != "shutdown" for m in own)


def _handled(failure: Failure, process: Process, progress: dict[int, Progress], attempts: Attempts) -> bool:
    done = progress.get(process.id)
    source = failure.event.source
    if done is None or not failure.event.chain or failure.event.text.startswith(_TERMINAL):
        return False
    if not done.went_on(source, failure.event.last, failure.high):
        return False
    return done.last[source][0] <= attempts.last_line(source, failure.attempt)  # a later attempt's output is another process's
