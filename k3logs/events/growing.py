"""How a record grows line by line: in frames, in a message, between the exceptions of a chain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from k3logs.events.groups import Margin, Nest, margin, once
from k3logs.events.record import Event, Line, Link

MAX_MESSAGE = 40
"""Lines after an exception's own that still belong to its message."""

HEADS = frozenset({"traceback_head", "group_head", "original_head"})
_REMOTE = frozenset({"collective_rpc", "execute_method", "_run_workers"})
"""Calls of vLLM's executors whose first argument is the name of the worker's method."""

_FRAMES = frozenset({"frame", "frame_nofunc", "fault_frame", "frame_repeated", "group_rule"})
_JOINTS = frozenset({"caused", "during"})
_TAILS = frozenset({"tail", "bare_tail", "group_tail"})
_OPENINGS = frozenset({"process_head", "thread_head", "spawn_head"})
_ALONE = _OPENINGS | {"fatal", "terminate", "terminate_bare", "ignored", "segfault_banner", "absl_signal", "entry", "root_cause", "failures"}


@dataclass(slots=True)
class Growing:
    """A record being built.

    Attributes:
        link: the exception whose message is being read; not in the chain where it is printed for the second time.
        nest: where in an exception group the last line stood; None outside of one.
    """

    event: Event
    key: tuple[int, int, str] | None
    last: int
    state: str = "text"
    frames: list[str] = field(default_factory=list)
    pending: bool = False
    lines: int = 1
    grown: int = 0
    link: Link | None = None
    nest: Nest | None = None


def begin(record: Growing, line: Line) -> None:
    """Start a record with its first line."""
    name = line.form.rpartition(".")[2]
    if name and (at := margin(line.message)) is not None:
        record.nest, record.state = Nest(), "frames"
        _in_group(record, line, name, at)
    elif name in HEADS:
        record.state = "frames"
    elif name in _TAILS:
        _tail(record, line)
    elif name in _OPENINGS:
        record.event.opening = line
        record.state = "opened"
    elif name == "terminate":
        record.state = "terminate"
        record.link = Link(line.fields.get("exception", ""), "", line)
        record.event.chain.append(record.link)


_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))


def take(record: Growing, line: Line) -> bool:
    """Add a line to an open record; False where it begins a new one."""
    name = line.form.rpartition(".")[2]
    event, tagged = record.event, record.key is not None
    at = margin(line.message)
    if at is not None and name == "group_tail" and record.nest is None and (tagged or record.state == "joint"):
        record.nest, record.state = Nest(), "frames"  # of exceptions that were never raised: there are no frames
    if record.nest is not None:
        if at is not None:
            _in_group(record, line, name, at)
            return True
        record.nest.leave(0, event.chain)
        _settle(record)
        record.nest, record.state = None, "after" if tagged else "joint_or_end"
    if not tagged and name == "spawn_head" and event.chain and not event.chain[-1].message.strip():
        # torch.multiprocessing.spawn wraps what its process raised: the wrapper says nothing itself
        event.chain.pop()
        event.opening, record.state, record.pending = line, "opened", True
        return True
    if not tagged and name in _ALONE:
        return False
    if name in HEADS:
        if not tagged and not record.pending and name != "original_head" and (event.chain or record.state == "text"):
            return False
        record.state, record.frames, record.pending = "frames", [], False
        record.nest = None if at is None else Nest()
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
            elif tagged and line.message.strip() and record.link is not None:
                record.link.message += "\n" + line.message
            return tagged
        case "joint_or_end":
            return not line.message.strip()
        case "opened":
            if name in _TAILS:
                _tail(record, line)
            return bool(name) or not line.message.strip()
    if not tagged:
        return False
    if name in _TAILS:
        _tail(record, line)
    elif event.text.translate(_NO_DIGITS) == line.message.translate(_NO_DIGITS):
        return False  # the same said again, of other ranks perhaps: a record of its own
    else:
        event.text += "\n" + line.message
    return True


def _in_frames(record: Growing, line: Line, name: str) -> bool:
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


def _in_message(record: Growing, line: Line, name: str) -> bool:
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
    if record.link is not None:
        record.link.message += "\n" + line.message
    return True


def _in_group(record: Growing, line: Line, name: str, at: Margin) -> None:
    """A line of an exception group; its margin says to which of the exceptions it belongs."""
    chain, nest = record.event.chain, record.nest
    assert nest is not None
    if at.rule:
        if at.rule == "opens":
            nest.enter(at.depth, record.link, chain)
        else:
            nest.leave(at.depth - (at.rule == "ends"), chain)
        record.state, record.frames = "frames", []
        return
    nest.leave(at.depth, chain)
    line = replace(line, message=at.text)
    if name in HEADS:
        record.state, record.frames, record.pending = "frames", [], False
    elif name in _JOINTS:
        record.state, record.pending = "joint", True
    elif record.state == "message" and (name not in _TAILS or line.number == record.last + 1):  # else the rule between was not kept
        record.grown += 1
        if record.link is not None and record.grown <= MAX_MESSAGE:
            record.link.message += "\n" + line.message
    elif record.state == "frames":
        if not record.frames and name not in _FRAMES | _TAILS and " " in line.message.partition(": ")[0]:
            return  # "and 3 more exceptions"
        _in_frames(record, line, name)
    elif name in _TAILS:
        _tail(record, line)


def finish(record: Growing) -> None:
    """Close a record: groups stand behind their exceptions, and what a message says twice it says once."""
    if record.nest is not None:
        record.nest.leave(0, record.event.chain)
    _settle(record)
    for link in record.event.chain:
        link.message = once(link.message.rstrip())


def _settle(record: Growing) -> None:
    """An exception printed again may have the further lines of its message only then."""
    if record.link is None:
        return
    for old in record.event.chain:
        if old is not record.link and old.type == record.link.type and "\n" not in old.message and record.link.message.startswith(old.message + "\n"):
            old.message = record.link.message
    record.link = None


def _frame(line: Line) -> str:
    f = line.fields
    return f"{f.get('file', '')}:{f.get('lineno', '')} {f.get('func', '')}".strip()


def _called(source: str) -> str:
    """The name that a line of source calls first, from the right of its dots; empty where it calls nothing."""
    head, paren, _ = source.strip().partition("(")
    name = head.rpartition(".")[2].rpartition(" ")[2]
    if name in _REMOTE and (argument := paren and source.strip().partition("(")[2].strip("\"'")):
        name = argument.partition('"')[0].partition("'")[0]  # what it runs on its workers says more
    return name if paren and name.isidentifier() else ""


def _tail(record: Growing, line: Line) -> None:
    """An exception's own line: a new link of the chain, or the same exception printed again."""
    kind, text = line.fields.get("exception", ""), line.fields.get("message", "")
    if not kind:
        kind, _, text = line.message.partition(": ")
    _settle(record)
    link = record.link = Link(kind, text, line, record.frames)
    same = any(old.type == link.type and old.message.split("\n")[0] == link.message for old in record.event.chain)
    record.frames, record.state, record.grown = [], "message", 0
    if not same:
        record.event.chain.append(link)
    record.pending = False
