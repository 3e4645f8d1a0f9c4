"""Deaths that others report: an executor, a launcher, the kernel, Slurm. Who died, and did the dead tell why?"""

from __future__ import annotations

import signal
from collections.abc import Sequence

from k3logs.identity.cast import Cast
from k3logs.identity.process import Process, parallel_of
from k3logs.incidents.crash import rank_of
from k3logs.incidents.exits import KILL, TERM, Exit, fits
from k3logs.incidents.failure import Failure

SOON = 60.0
"""Seconds within which a death is reported."""

_WORDS = {"Killed": "SIGKILL", "Terminated": "SIGTERM", "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS", "Illegal instruction": "SIGILL",
          "Floating point exception": "SIGFPE"}
"""strsignal(3)'s words, as shells and Slurm print them."""

_NATIVE = "native."


def settle(by_role: dict[str, list[Failure]], failures: Sequence[Failure], exits: Sequence[Exit], cast: Cast) -> None:
    """Deaths that others report: a candidate where the dead told nothing itself, else a consequence."""
    told = {f.process.id for f in failures if f.process is not None and f.role not in ("teardown", "benign", "handled", "request")}
    ends = {e.process.id: e for e in exits}
    left: list[Failure] = []
    for f in by_role.pop("symptom", []):
        if not _is_death(f):
            left.append(f)
            continue
        dead = _dead(f, cast)
        end = ends.get(dead.id) if dead is not None else None
        code = _code(f)
        if dead is not None and dead.id in told:
            f.role = "cascade"
            f.reasons.append(f"{dead.label} told its own failure before")
        elif end is not None and end.ended_by_launcher and code in (TERM, KILL):
            f.role = "cascade"
            f.reasons.append("its launcher ended it")
        elif code is not None and code > 0 and dead is None and by_role.get("initiating"):
            f.role = "cascade"
        else:
            f.role, f.observed = "initiating", False
            f.victim_rank = dead.rank if dead is not None else _number(f, "worker", "peer_rank")
            if f.victim_rank is None and len(cast.source_node) == 1 and f.fields.get("local_rank", "").isdigit():
                f.victim_rank = int(f.fields["local_rank"])  # one node: local and global ranks are the same
        by_role.setdefault(f.role, []).append(f)
    if left:
        by_role["symptom"] = left


def name_crashes(candidates: Sequence[Failure]) -> None:
    """A native crash without a name is that of the one process whose death is reported right after it."""
    reports = [c for c in candidates if not c.observed and rank_of(c) is not None]
    unnamed = [c for c in candidates if not c.observed and rank_of(c) is None]
    for c in candidates:
        if rank_of(c) is not None or not (c.event.first.form.startswith(_NATIVE) if c.observed else c in unnamed):
            continue
        if not c.observed:  # the same death, told once more with a name
            after = [r for r in reports if r.id == c.id and r.event.source == c.event.source and 0.0 <= r.low - c.low <= SOON]
        else:
            after = [r for r in reports if r.event.source == c.event.source and (r.line > c.line or r.low >= c.low) and not r.low - c.high > SOON
                 and ((code := _code(r)) is None or fits(c, code))]
        ranks = {rank_of(r) for r in after}
        if len(ranks) == 1:
            c.victim_rank = ranks.pop()
            c.reasons.append(f"it has no name; the death of rank {c.victim_rank} is reported right after it")
            for r in after:
                r.role = "cascade"


def _code(f: Failure) -> int | None:
    """The exit code that a line reports; a signal counts as its negative."""
    if (text := f.fields.get("exit_code", "")).lstrip("-").isdigit():
        return int(text)
    name = f.fields.get("signal", "")
    name = _WORDS.get(name, name)
    return -int(signal.Signals[name]) if name in signal.Signals.__members__ else -int(name) if name.isdigit() else None


def _is_death(f: Failure) -> bool:
    return bool({"exit_code", "worker", "signal"} & set(f.fields)) or (f.signature is not None and f.signature.category in ("host", "external"))


def _number(f: Failure, *names: str) -> int | None:
    """The first of the named fields that is a whole number."""
    return next((int(f.fields[n]) for n in names if f.fields.get(n, "").isdigit()), None)


def _dead(f: Failure, cast: Cast) -> Process | None:
    """The process whose death a line reports."""
    if (worker := _number(f, "worker")) is not None:
        return _worker(worker, f, cast)
    if (pid := f.fields.get("peer_pid", "")).isdigit() and (found := cast.of_pid(int(pid), f.node)) is not None:
        return found
    if (rank := f.fields.get("peer_rank", "")).isdigit():
        return cast.by_rank.get(int(rank))
    if (local := f.fields.get("local_rank", "")).isdigit():
        hits = [p for p in cast.processes if p.parallel.get("local_rank", p.rank) == int(local) and (p.node == f.node or f.node is None)]
        if len(hits) == 1:
            return hits[0]
        return None if f.process is not None and f.process.kind == "launcher" else f.process
    return f.process if f.process is not None and f.process.rank is not None else None


def _worker(number: int, f: Failure, cast: Cast) -> Process | None:
    """The worker that an executor calls ``VllmWorker-5`` (vllm/v1/executor/multiproc_executor.py).

    The number is the rank in the executor's world: with data parallelism each engine counts its own workers from 0, and an
    executor of a second node may count its own.
    """
    near = sorted((p for p in cast.processes if p.kind == "worker" and p.rank is not None and (f.node is None or p.node == f.node)), key=lambda p: p.rank or 0)
    engine = parallel_of(f.process.name).get("dp") if f.process is not None and f.process.name else None
    if engine is not None and len({p.parallel.get("dp") for p in near}) > 1:
        near = [p for p in near if p.parallel.get("dp") == engine]
        return near[number] if number < len(near) else None
    hit = cast.by_rank.get(number)
    if hit is not None and (hit in near or not near):
        return hit
    return near[number] if number < len(near) else hit
