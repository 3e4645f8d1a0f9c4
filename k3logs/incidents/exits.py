"""What launchers say of the processes they started: who ended first, with which code, and whom they ended themselves.

torchelastic's summary block and its ``failed (exitcode: ...)`` line, ``torch/multiprocessing/spawn.py``, ``srun`` and
``mpirun``. In a crash their "first" is right; in a hang it is the first victim that gave up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k3logs.events.record import Event
from k3logs.identity.cast import Cast
from k3logs.identity.facts import Fact
from k3logs.identity.process import Process
from k3logs.incidents.failure import Failure

TERM, KILL, ABORT, SEGV, BUS, ILL = -15, -9, -6, -11, -7, -4
_FITS = {
    "native.fatal": {"Aborted": ABORT, "Segmentation fault": SEGV, "Bus error": BUS, "Illegal instruction": ILL},
    "native.terminate": {"": ABORT}, "native.terminate_bare": {"": ABORT}, "native.what": {"": ABORT}, "native.segfault_banner": {"": SEGV},
}


_LAUNCHERS = ("elastic_block.", "slurm.", "mpi.")
"""Text forms by which launchers speak of others."""


@dataclass(slots=True)
class Exit:
    """One process's end as a launcher reports it; ``first`` where the launcher saw it before all others."""

    process: Process
    code: int
    source: int
    line: int
    first: bool
    ended_by_launcher: bool = False


def exits(facts: Sequence[Fact], events: Sequence[Event], cast: Cast) -> list[Exit]:
    """All ends, one per process, the first report of each."""
    signalled = _signalled(events, cast)
    found: dict[int, Exit] = {}
    for fact in facts:
        if fact.kind != "exit" or fact.exit_code is None:
            continue
        node = cast.source_node.get(fact.source)
        process = cast.of_pid(fact.pid, node) if fact.pid is not None else None
        process = process or (cast.by_rank.get(fact.rank) if fact.rank is not None else None)
        if process is None:
            continue
        end = found.get(process.id)
        if end is None:
            found[process.id] = Exit(process, fact.exit_code, fact.source, fact.line.number, fact.step == "first", bool(process.pids & signalled))
        else:
            end.first = end.first or fact.step == "first"
    return list(found.values())


def _signalled(events: Sequence[Event], cast: Cast) -> set[int]:
    """Pids that a launcher says it ended."""
    pids = set()
    for event in events:
        text = event.text
        if text.startswith(("Sending process ", "Terminating process ", "Killing subprocess ", "Unable to shutdown process ")):
            pids |= {int(word) for word in text.replace(",", " ").split() if word.isdigit()}
    return pids


def fits(failure: Failure, code: int) -> bool:
    """Whether a process that told this could end with this code."""
    event = failure.event
    if event.chain and not event.first.form.startswith("native."):
        kind = event.chain[failure.link].type.rpartition(".")[2]
        return code == 1 if kind != "SystemExit" else code > 0
    table = _FITS.get(event.first.form)
    if table is None:
        return code in (1, 2, ABORT)
    return any(code == value for text, value in table.items() if text in event.text)


def attribute(failures: Sequence[Failure], ends: Sequence[Exit]) -> None:
    """Give failures without a process to the process whose end they explain, where only one can be meant.

    An untagged traceback or abort belongs to a rank that ended with a fitting code and told nothing itself.
    """
    told = {f.process.id for f in failures if f.process is not None and f.role not in ("teardown", "benign", "handled")}
    open_ends = [e for e in ends if e.process.id not in told and not (e.ended_by_launcher and e.code in (TERM, KILL))]
    nameless = [f for f in failures if f.process is None and f.role in ("initiating", "first", "symptom")
                and not ({"exit_code", "signal", "peer_pid"} & set(f.fields)) and not f.event.first.form.startswith(_LAUNCHERS)]
    for failure in sorted(nameless, key=lambda f: (f.low, f.line)):
        options = [e for e in open_ends if e.source == failure.event.source and fits(failure, e.code)]
        first = [e for e in options if e.first]
        chosen = options[0] if len(options) == 1 else first[0] if len(first) == 1 and _only(failure, nameless) else None
        if chosen is not None:
            failure.process = chosen.process
            failure.node = failure.node or chosen.process.node
            failure.reasons.append(f"its traceback has no rank; {chosen.process.label} ended with a code that fits (exit code {chosen.code}) and told nothing else")
            open_ends.remove(chosen)


def _only(failure: Failure, nameless: Sequence[Failure]) -> bool:
    """Whether it is the first of the nameless ones in its source."""
    return all(f is failure or (f.event.source, f.line) > (failure.event.source, failure.line) for f in nameless if f.event.source == failure.event.source)
