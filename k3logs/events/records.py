"""Kept lines -> events: lines of one record together, one exception with its chain as one event.

Lines of several processes interleave, so each stream of lines (one process, one wrapper) builds its own records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from k3logs.events.digest import Digest
from k3logs.events.headers import Header
from k3logs.events.stamps import NO_TIME

MAX_LINES = 2_000
"""Lines of one record; what comes after starts a new one."""

MAX_MESSAGE = 40
"""Lines after an exception's own that still belong to its message."""

_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL", "WARNING", "E"})
"""Levels of records that may have a traceback below."""

_GAP = 3
"""Lines of other streams apart, at most, for an untagged line to go on with the record above it."""

_HEADS = frozenset({"traceback_head", "group_head", "original_head"})
_FRAMES = frozenset({"frame", "frame_nofunc", "fault_frame", "frame_repeated", "group_rule"})
_JOINTS = frozenset({"caused", "during"})
_TAILS = frozenset({"tail", "bare_tail", "group_tail"})
_OPENINGS = frozenset({"process_head", "thread_head", "spawn_head"})
_ALONE = _OPENINGS | {"fatal", "terminate", "terminate_bare", "ignored", "segfault_banner", "absl_signal", "entry", "root_cause", "failures"}


@dataclass(slots=True)
class Line:
    """One kept line after peeling: ``form`` is the text form of its message (``python.tail`` ...), if any."""

    number: int
    part: int
    header: int
    time: int
    envelope_time: int
    grain: int
    message: str
    raw: str
    site: str
    form: str
    fields: dict[str, str]


@dataclass(slots=True)
class Link:
    """One exception of a chain."""

    type: str
    message: str
    line: Line
    frames: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """``Type: message`` with the message's further lines."""
        return f"{self.type}: {self.message}" if self.message else self.type


@dataclass(slots=True)
class Event:
    """A record or an exception.

    Attributes:
        first: the line it begins with; ``anchor`` is the one to show: the exception's own text, else ``first``.
        text: the record's message, further lines joined by newlines.
        chain: the exceptions printed in it, the earliest cause first.
        opening: what introduced the exception (``Process EngineCore:``), if a line did.
    """

    source: int
    first: Line
    text: str
    chain: list[Link] = field(default_factory=list)
    opening: Line | None = None
    last: int = 0
    thread: str = ""
    order: int = 0

    @property
    def anchor(self) -> Line:
        return self.chain[0].line if self.chain else self.first

    @property
    def frames(self) -> list[str]:
        return [f for link in self.chain for f in link.frames]


@dataclass(slots=True)
class _Open:
    """A record being built."""

    event: Event
    key: tuple[int, int, str] | None
    last: int
    state: str = "text"
    frames: list[str] = field(default_factory=list)
    pending: bool = False
    lines: int = 1
    grown: int = 0


def stream_of(header: Header) -> tuple[str, ...]:
    """Identity of the stream that a line belongs to: all its header says about who printed it, but not how loud."""
    return tuple(v for k, v in sorted(header.fields.items()) if k not in ("level", "func", "cuda_dev", "facility", "severity", "logger", "partial"))


def build(digest: Digest, lines: Iterator[Line], source: int) -> list[Event]:
    """Events of one source, in the order of their first lines."""
    streams: dict[int, tuple[str, ...]] = {}
    open_: dict[tuple[str, ...], _Open] = {}
    done: list[Event] = []
    known = digest.headers.known
    loud: tuple[int, tuple[str, ...]] | None = None

    def close(stream: tuple[str, ...]) -> None:
        record = open_.pop(stream, None)
        if record is not None:
            _finish(record)
            done.append(record.event)

    for line in lines:
        stream = streams.get(line.header)
        if stream is None:
            stream = streams[line.header] = stream_of(known[line.header])
        if known[line.header].dialect is None and loud is not None and line.number <= loud[0] + 1 and loud[1] in open_ and _below(open_[loud[1]], line, known):
            stream = loud[1]  # logging.exception prints record and traceback in one write
            if open_[stream].key is not None:
                open_[stream].key, open_[stream].state = None, "below"
        record = open_.get(stream)
        dialect = known[line.header].dialect
        # only records with a place in the source repeat their header on further lines; any other line stands alone
        key = (line.header, line.time, line.site or str(line.number)) if dialect else None
        if record is not None and (record.key != key or record.lines >= MAX_LINES or (key is None and line.number - record.last > _GAP)):
            close(stream)
            record = None
        if record is None or not _take(record, line):
            close(stream)
            record = open_[stream] = _Open(Event(source, line, line.message), key, line.number)
            record.event.last = line.number
            _open(record, line)
        record.last = record.event.last = line.number
        record.lines += 1
        if known[line.header].level in _LOUD or (known[line.header].dialect is None and loud is not None and stream == loud[1]):
            loud = (line.number, stream)
    for stream in list(open_):
        close(stream)
    done.sort(key=lambda e: (e.first.number, e.first.part))
    for n, event in enumerate(done):
        event.order = n
    return done


def _below(record: _Open, line: Line, known: list[Header]) -> bool:
    """Whether an untagged line can be the traceback below a loud record: the same wrapper, and the record has no other."""
    outer, inner = known[line.header].fields, known[record.event.first.header].fields
    name = line.form.rpartition(".")[2]
    return all(inner.get(k) == v for k, v in outer.items()) and (record.key is None or (name in _HEADS and not record.event.chain))


def _open(record: _Open, line: Line) -> None:
    name = line.form.rpartition(".")[2]
    if name in _HEADS:
        record.state = "frames"
    elif name in _TAILS:
        _tail(record, line)
    elif name in _OPENINGS:
        record.event.opening = line
        record.state = "opened"
    elif name == "terminate":
        record.state = "terminate"
        record.event.chain.append(Link(line.fields.get("exception", ""), "", line))


def _take(record: _Open, line: Line) -> bool:
    """Add a line to an open record; False where it begins a new one."""
    name = line.form.rpartition(".")[2]
    event, tagged = record.event, record.key is not None
    if not tagged and name == "spawn_head" and event.chain and not event.chain[-1].message.strip():
        # torch.multiprocessing.spawn wraps what its process raised: the wrapper says nothing itself
        event.chain.pop()
        event.opening, record.state, record.pending = line, "opened", True
        return True
    if not tagged and name in _ALONE:
        return False
    if name in _HEADS:
        if not tagged and not record.pending and name != "original_head" and (event.chain or record.state == "text"):
            return False
        record.state, record.frames, record.pending = "frames", [], False
        return True
    if name in _JOINTS and (event.chain or tagged):
        record.pending, record.state = True, "joint"
        return True
    match record.state:
        case "terminate":
            if name != "what":
                return False
            link = event.chain[-1]
            link.message, link.line, record.state = line.fields.get("message", ""), line, "message"
            return True
        case "frames":
            return _in_frames(record, line, name)
        case "joint":
            if name in _TAILS and not line.message.startswith(" "):
                _tail(record, line)
            return True
        case "message":
            return _in_message(record, line, name)
        case "after":
            if tagged and name in _TAILS:
                _tail(record, line)
            elif tagged and line.message.strip() and event.chain:
                event.chain[-1].message += "\n" + line.message
            return tagged
        case "opened":
            if name in _TAILS:
                _tail(record, line)
            return bool(name) or not line.message.strip()
    if not tagged:
        return False
    if name in _TAILS:
        _tail(record, line)
    else:
        event.text += "\n" + line.message
    return True


def _in_frames(record: _Open, line: Line, name: str) -> bool:
    """A line below ``Traceback``: a frame, its source, or the exception's own line."""
    if name in _FRAMES:
        record.frames.append(_frame(line))
    elif record.frames and line.message.startswith("    ") and (call := _called(line.message)) and " > " not in record.frames[-1]:
        # the source line: what a frame calls is known even where a decorator hides the frame of the call
        record.frames[-1] += f" > {call}"
    elif name in _TAILS:
        _tail(record, line)
    elif line.message[:1] not in (" ", "\t", "|", "+", "^", "~", "") and record.frames:
        # after frames, the first line at the margin is the exception, whatever its name looks like
        kind, colon, _ = line.message.partition(": ")
        if " " in kind and not colon:
            return record.key is not None
        _tail(record, line)
    return True


def _in_message(record: _Open, line: Line, name: str) -> bool:
    """A line below an exception's own line: more of its message, or the end of it."""
    tagged = record.key is not None
    if not tagged and name and name not in ("raised_from", "cpp_frame") and not line.message.startswith((" ", "\t")):
        return False
    if not line.message.strip():
        record.state = "after" if tagged else "joint_or_end"
        return True
    record.grown += 1
    if record.grown > MAX_MESSAGE:
        return tagged
    record.event.chain[-1].message += "\n" + line.message
    return True


def _frame(line: Line) -> str:
    f = line.fields
    return f"{f.get('file', '')}:{f.get('lineno', '')} {f.get('func', '')}".strip()


def _called(source: str) -> str:
    """The name that a line of source calls first, from the right of its dots; empty where it calls nothing."""
    head, paren, _ = source.strip().partition("(")
    name = head.rpartition(".")[2].rpartition(" ")[2]
    return name if paren and name.isidentifier() else ""


def _tail(record: _Open, line: Line) -> None:
    """An exception's own line: a new link of the chain, or the same exception printed again."""
    kind, text = line.fields.get("exception", ""), line.fields.get("message", "")
    if not kind:
        kind, _, text = line.message.partition(": ")
    link = Link(kind, text, line, record.frames)
    same = next((old for old in record.event.chain if old.type == link.type and old.message.split("\n")[0] == link.message), None)
    record.frames, record.state, record.grown = [], "message", 0
    if same is None:
        record.event.chain.append(link)
    record.pending = False


def _finish(record: _Open) -> None:
    event = record.event
    for link in event.chain:
        link.message = link.message.rstrip()


def has_time(line: Line) -> bool:
    """Whether the line has a stamp of its own, of its emitter or of its wrapper."""
    return line.time != NO_TIME or line.envelope_time != NO_TIME
