"""In which phase was a process when it failed? Its stack says it best, then what it and its engine last reached."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from k3logs.errors import AuthorError
from k3logs.events.record import Event
from k3logs.identity.process import Process
from k3logs.incidents.failure import Failure
from k3logs.model import PHASES

FILE = Path(__file__).parent / "data" / "phases.toml"


@dataclass(frozen=True, slots=True)
class FrameRule:
    """Functions and files whose presence in a stack says the phase."""

    phase: str
    functions: frozenset[str]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PhaseTable:
    """The data of ``data/phases.toml``; marks are in the order of a start."""

    frames: tuple[FrameRule, ...]
    marks: tuple[tuple[str, tuple[str, ...]], ...]
    running: tuple[str, ...]
    connected: tuple[str, ...]
    request: tuple[str, ...]
    teardown: frozenset[str]
    progress: str

    @property
    def literals(self) -> list[str]:
        """Texts of all marks: lines that are worth keeping."""
        return [*self.connected, *(text for _, texts in self.marks for text in texts)]


@cache
def table(file: Path = FILE) -> PhaseTable:
    """Read the table.

    Raises:
        AuthorError: an unknown phase or a missing key.
    """
    try:
        data = tomllib.loads(file.read_text())
        frames = tuple(FrameRule(f["phase"], frozenset(f["functions"]), tuple(f.get("files", ()))) for f in data["frame"])
        marks = tuple((m["phase"], tuple(m["texts"])) for m in data["mark"])
        running = tuple(data["running"]["texts"])
        connected, request = tuple(data["connected"]["texts"]), tuple(data["request"]["files"])
        teardown = frozenset(data["teardown"]["functions"])
        progress = str(data["progress"]["pattern"])
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise AuthorError(file, 0, f"not a table of phases: {error}", "it has [[frame]], [[mark]] and [progress]") from error
    for phase in [f.phase for f in frames] + [m[0] for m in marks]:
        if phase not in PHASES:
            raise AuthorError(file, 0, f"unknown phase {phase!r}", f"one of {', '.join(PHASES)}")
    return PhaseTable(frames, marks, running, connected, request, teardown, progress)


def of_frames(frames: Iterable[str]) -> str | None:
    """The phase that a stack says (frames as ``file:line function > called``), None where it says nothing.

    The innermost telling frame decides, but a compile below profiling is compile: rules are tried in the table's order.
    """
    parsed = []
    for frame in frames:
        place, _, call = frame.partition(" > ")
        file, _, function = place.partition(" ")
        parsed.append(({function, call}, file))
    for rule in table().frames:
        for functions, file in parsed:
            if functions & rule.functions or any(part in file for part in rule.files):
                return rule.phase
    return None


@dataclass(frozen=True, slots=True)
class Mark:
    """One lifecycle mark: who printed it (process id or None), where, in which phase it puts that process, and the words of the table."""

    process: int | None
    kind: str
    source: int
    line: int
    low: float
    phase: str
    words: str = ""
    attempt: int = 0


def milestone(text: str) -> tuple[str, str] | None:
    """The phase that a line of ordinary output begins and the words that say so, None for most lines."""
    for phase, words in _last_first():
        if words in text:
            return phase, words
    return None


def mark_of(text: str) -> str | None:
    """The phase that a line of ordinary output begins, None for most lines."""
    found = milestone(text)
    return found[0] if found is not None else None


@cache
def _last_first() -> tuple[tuple[str, str], ...]:
    """Phase and words of every mark; of several that a line has the last one counts."""
    return tuple((phase, words) for phase, texts in reversed(table().marks) for words in texts)


def order(phase: str) -> int:
    """Place of a phase in a start."""
    return PHASES.index(phase)


def of_failure(failure: Failure, marks: Sequence[Mark], event: Event, echoes: Sequence[Event], running: tuple[set[int], set[int]], grouped: bool, process: Process | None) -> str:
    """The phase of the failure's process when it failed.

    Args:
        echoes: events that quote this failure (the engine's call that failed), whose stacks say what was being done.
        running: processes and sources that had printed progress of a training or serving loop.
        process: whose failure it is, where that is known.
        grouped: whether ranks of a job without vLLM had formed their process group (then torch puts ``[rank3]:`` before their errors).
    """
    signature = failure.signature
    frames = [f for link in event.chain[: failure.link + 1] for f in link.frames] or event.frames
    if signature and len(signature.phases) == 1 and (not frames or signature.category in ("host_driver", "container")):
        return signature.phases[0]
    found = of_frames(frames)
    if found in (None, "serving") and (told := next((p for e in echoes if (p := of_frames(e.frames)) is not None), None)) is not None:
        found = told
    if found is not None:
        reached = _reached(failure, marks, process)
        if found == "device_init" and signature and signature.category in ("communication", "network", "interconnect"):
            return "distributed_init"
        if found in ("config", "import", "weight_load", "compile") and reached == "serving":
            return "serving"
        if found == "import" and reached not in (None, "config"):
            return reached or found
        return found
    reached = _reached(failure, marks, process)
    if (process is not None and process.id in running[0]) or (failure.event.source in running[1] and reached in _BEFORE_RUNNING):
        return "serving"
    if signature and signature.phases and (reached is None or reached not in signature.phases):
        return signature.phases[0] if reached is None or len(signature.phases) == 1 else reached
    if reached is not None:
        return reached
    kind = event.chain[failure.link].type.rpartition(".")[2] if event.chain else ""
    if signature is None and kind in ("ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError"):
        return "import"
    if grouped:
        return "serving"
    # before anything else was printed most errors are of what was given; these types say nothing of that kind
    return "config" if event.chain and failure.observed and kind not in ("RuntimeError", "AssertionError") else "unknown"


_BEFORE_RUNNING = frozenset({None, "serving", "weight_load", "distributed_init"})


def _reached(failure: Failure, marks: Sequence[Mark], process: Process | None) -> str | None:
    """The furthest mark before the failure: of its own process, of the engine above it, of its node, of any engine by time."""
    source, line = failure.event.source, failure.event.first.number
    marks = [m for m in marks if m.source != source or m.attempt == failure.attempt]
    own = [m for m in marks if process is not None and m.process == process.id and (m.line < line if m.source == source else m.low < failure.low)]
    near = [m for m in marks if m.source == source and m.line < line and (m.kind != "api" or m.phase == "serving" or not own)]
    # the engine and rank 0 print marks for all: a worker's own older mark does not hold them back
    # where a source has no marks at all, as the kernel's, those of all others say it
    alone = all(m.source != source for m in marks)
    timed = failure.low != float("-inf") or failure.high != float("inf")
    far = [m for m in marks if m.source != source and (alone or m.kind in ("engine", "api")) and (m.low < failure.low or not timed and m.phase != "shutdown")]
    return furthest([*own, *near, *far])


def furthest(found: Sequence[Mark]) -> str | None:
    """The furthest phase that anyone reached."""
    return max((m.phase for m in found), key=order, default=None)
