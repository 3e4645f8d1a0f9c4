"""What a message says about who is who, and when ranks met: each fact read by the nested grammar of its message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from k3logs.events.record import Event, Line
from k3logs.grammar.message import parse_message

_SETTINGS = {"dp": "data_parallel_size", "pp": "pipeline_parallel_size", "pcp": "prefill_context_parallel_size", "tp": "tensor_parallel_size"}
"""Dimension -> its setting (vllm/config/parallel.py)."""

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
    named: bool = False
    parallel: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


def read(events: Iterable[Event]) -> list[Fact]:
    """All facts in the events' messages."""
    events = list(events)
    return with_communicators([fact for event in events for fact in _of(event)]) + list(_summaries(events))


def _summaries(events: Iterable[Event]) -> Iterator[Fact]:
    """Entries of torchelastic's summary blocks: rank, local rank, pid and exit code, one line each."""
    rank = local_rank = None
    first = False
    for event in events:
        form, fields = event.first.form, event.first.fields
        if form == "elastic_block.root_cause":
            first = True
        elif form == "elastic_block.failures":
            first = False
        elif form == "elastic_block.rank":
            rank, local_rank = int(fields["rank"]), int(fields["local_rank"])
        elif form == "elastic_block.exitcode" and rank is not None:
            yield Fact("exit", event.source, event.first.header, event.first, speaker=False, pid=int(fields["pid"]), rank=rank, local_rank=local_rank,
                       exit_code=int(fields["exit_code"]), step="first" if first else None)
            rank = None


def _of(event: Event) -> Iterator[Fact]:
    text, line = event.text, event.first

    def fact(kind: str, **values: Any) -> Fact:
        return Fact(kind, event.source, line.header, line, **values)

    if "pid=" in text and (pid := text.partition("pid=")[2].partition(" ")[0].rstrip(",)")).isdigit():
        # a line of a process that its prefix names by rank and itself by pid
        yield fact("pid", pid=int(pid), named=True)
    if (found := parse_message("world_size", text)) is not None:
        yield fact("world_size", world=_int(found, "world_size"), rank=_int(found, "rank"), local_rank=_int(found, "local_rank"))
    if (found := parse_message("rank_assign", text)) is not None:
        parallel = {k: v for k in PARALLEL if (v := _int(found, k)) is not None}
        yield fact("rank_assign", world=_int(found, "world_size"), rank=_int(found, "rank"), parallel=parallel)
    if ("non-default args:" in text or "with config:" in text or "args: Namespace(" in text) and (found := parse_message("config_repr", text)) is not None:
        settings = found.get("args") or found.get("config") or {}
        sizes = {name: size for name, key in _SETTINGS.items() if isinstance(settings, dict) and (size := _int(settings, key)) is not None}
        yield fact("config", sizes=sizes)
    if (found := parse_message("nccl_init", text)) is not None:
        yield fact("nccl_init", comm=found.get("comm"), comm_id=found.get("comm_id"), comm_rank=_int(found, "rank"), nranks=_int(found, "nranks"),
                   step=found.get("step"), values=found)
    if (found := parse_message("nccl_ag3", text)) is not None:
        yield fact("nccl_ag3", comm=found.get("comm"), comm_rank=_int(found, "rank"), nranks=_int(found, "nranks"), step="TOPOLOGY", values=found)
    if parse_message("bootstrap_timings", text) is not None:
        yield fact("bootstrap_timings", step="BOOTSTRAP")
    if "Using " in text and "<" in text and ("Bootstrap" in text or "OOB " in text):
        # "Bootstrap: Using eth0:10.0.0.2<0>", "... OOB eth0:10.0.0.2<0>" (NCCL's bootstrap.cc, net_ib.cc)
        address = text.rpartition("<")[0].rpartition(" ")[2].partition(":")[2]
        if address:
            yield fact("address", address=address)


def with_communicators(facts: list[Fact]) -> list[Fact]:
    """Give lines that name a communicator by address, or not at all, the id of the one that their process is opening."""
    opened: dict[tuple[int, int], tuple[str | None, str | None]] = {}
    by_address: dict[tuple[int, int, str], str] = {}
    for fact in facts:
        place = (fact.source, fact.header)
        if fact.kind == "nccl_init" and fact.step == "START" and fact.comm:
            opened[place] = fact.comm, fact.comm_id
            if fact.comm_id:
                by_address[(*place, fact.comm)] = fact.comm_id
        elif fact.kind == "bootstrap_timings" and place in opened:
            fact.comm, fact.comm_id = opened[place]
        elif fact.kind in ("nccl_ag3", "nccl_init") and fact.comm and fact.comm_id is None:
            fact.comm_id = by_address.get((*place, fact.comm))
    return facts


def _int(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    return int(value) if isinstance(value, (int, str)) and str(value).lstrip("-").isdigit() else None
