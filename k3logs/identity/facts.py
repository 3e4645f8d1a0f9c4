"""What a message says about who is who, and when ranks met: each fact read by the nested grammar of its message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from k3logs.events.records import Event, Line
from k3logs.grammar.message import parse_message

PARALLEL = ("dp", "pp", "pcp", "tp", "ep")


@dataclass(slots=True)
class Fact:
    """One fact.

    Attributes:
        kind: name of the message grammar that read it.
        speaker: whether it is about the process that printed it (else about the pid or rank it names).
        comm_rank, nranks: rank and size in an NCCL communicator, the world only where ``nranks`` is its size.
        step: for NCCL init lines ``START``, ``COMPLETE``, ``BOOTSTRAP`` or ``TOPOLOGY``.
    """

    kind: str
    source: int
    header: int
    line: Line
    speaker: bool = True
    pid: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    world: int | None = None
    host: str | None = None
    address: str | None = None
    comm: str | None = None
    comm_id: str | None = None
    comm_rank: int | None = None
    nranks: int | None = None
    step: str | None = None
    exit_code: int | None = None
    parallel: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


def read(events: Iterable[Event]) -> list[Fact]:
    """All facts in the events' messages."""
    return [fact for event in events for fact in _of(event)]


def _of(event: Event) -> Iterator[Fact]:
    text, line = event.text, event.first

    def fact(kind: str, **values: Any) -> Fact:
        return Fact(kind, event.source, line.header, line, **values)

    if (found := parse_message("world_size", text)) is not None:
        yield fact("world_size", world=_int(found, "world_size"), rank=_int(found, "rank"), local_rank=_int(found, "local_rank"))
    if (found := parse_message("rank_assign", text)) is not None:
        parallel = {k: v for k in PARALLEL if (v := _int(found, k)) is not None}
        yield fact("rank_assign", world=_int(found, "world_size"), rank=_int(found, "rank"), parallel=parallel)
    if (found := parse_message("nccl_init", text)) is not None:
        yield fact("nccl_init", comm=found.get("comm"), comm_id=found.get("comm_id"), comm_rank=_int(found, "rank"), nranks=_int(found, "nranks"),
                   step=found.get("step"), values=found)


def _int(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    return int(value) if isinstance(value, (int, str)) and str(value).lstrip("-").isdigit() else None
