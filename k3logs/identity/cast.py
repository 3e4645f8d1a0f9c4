"""Who is in the logs: all processes, and how to find the one that a line, a pid, a rank or a node means."""

from __future__ import annotations

from dataclasses import dataclass, field

from k3logs.events.record import Event
from k3logs.identity.process import Process


@dataclass(slots=True)
class Cast:
    """All processes, and where to find the one that a line came from."""

    processes: list[Process] = field(default_factory=list)
    of_header: dict[tuple[int, int], Process] = field(default_factory=dict)
    alone: dict[int, Process] = field(default_factory=dict)
    by_rank: dict[int, Process] = field(default_factory=dict)
    by_pid: dict[tuple[str, int], Process] = field(default_factory=dict)
    source_node: dict[int, str | None] = field(default_factory=dict)
    header_node: dict[tuple[int, int], str | None] = field(default_factory=dict)
    node_of_address: dict[str, str] = field(default_factory=dict)
    world: int | None = None
    conflicts: list[str] = field(default_factory=list)

    def of_event(self, event: Event) -> Process | None:
        """The process that printed an event, None where its lines do not say."""
        return self.of_header.get((event.source, event.first.header)) or self.alone.get(event.source)

    def node_of_event(self, event: Event) -> str | None:
        """The node that an event was printed on."""
        return self.header_node.get((event.source, event.first.header)) or self.source_node.get(event.source)

    def node_of(self, name: str) -> str:
        """The node that an address or a host name means: what logs call it, else the name itself."""
        short = name.partition(".")[0]
        return self.node_of_address.get(name) or (short if not short.isdigit() and short in self.nodes else name)

    def share_a_world(self, a: int, b: int) -> bool:
        """Whether two sources hold different ranks of one world: replicas would each hold the same ones."""
        first, second = ({p.rank for p in self.processes if p.rank is not None and source in p.sources} for source in (a, b))
        return bool(first) and bool(second) and not first & second and (self.world or 0) > max(len(first), len(second))

    def of_pid(self, pid: int, node: str | None = None) -> Process | None:
        """The process of a pid: on that node, else on the only node that has it."""
        if node is not None and (found := self.by_pid.get((node, pid))):
            return found
        hits = {p.id: p for (_, number), p in self.by_pid.items() if number == pid}
        return next(iter(hits.values())) if len(hits) == 1 else None

    def missing(self) -> list[int]:
        """Ranks of the world that nothing in the logs names."""
        return [r for r in range(self.world) if r not in self.by_rank] if self.world is not None and self.world <= 4096 else []

    @property
    def complete(self) -> bool:
        """Whether every rank of the world printed to these logs."""
        return self.world is not None and self.world == len({p.rank for p in self.processes if p.rank is not None and p.sources})

    def ranked(self, rank: int, node: str | None) -> Process | None:
        """The process of a rank: of replicas with the same ranks, the one on that node."""
        first = self.by_rank.get(rank)
        if first is None or node is None or first.node == node:
            return first
        return next((p for p in self.processes if p.rank == rank and p.node == node), first)

    def node_around(self, rank: int) -> str | None:
        """The node of a rank that no line ties to one: where the next known ranks below and above it are on the same."""
        placed = {r: p.node for r, p in self.by_rank.items() if p.node is not None}
        below, above = max((r for r in placed if r < rank), default=None), min((r for r in placed if r > rank), default=None)
        return placed[below] if below is not None and above is not None and placed[below] == placed[above] else None

    def add_rank(self, rank: int, node: str | None) -> Process:
        """A process that is known by its rank alone."""
        process = self.by_rank.get(rank)
        if process is None:
            process = self.by_rank[rank] = Process(len(self.processes), rank=rank, kind="worker", node=node)
            self.processes.append(process)
        return process

    @property
    def ranks(self) -> list[int]:
        """All ranks that are known, ascending."""
        return sorted(self.by_rank)

    @property
    def nodes(self) -> list[str]:
        """Nodes in the order in which sources name them."""
        seen = dict.fromkeys(n for n in [*self.source_node.values(), *(p.node for p in self.processes)] if n)
        return list(seen)
