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
