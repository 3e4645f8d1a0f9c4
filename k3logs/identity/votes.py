"""Which rank has a pid? Several kinds of lines say so; the most trusted kind that does not contradict itself decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from k3logs.events.digest import Digest
from k3logs.identity.facts import Fact
from k3logs.identity.process import Key


@dataclass(frozen=True, slots=True)
class Places:
    """Nodes of sources, and of ``(source, header)`` pairs."""

    source: dict[int, str | None]
    header: dict[tuple[int, int], str | None]


_TRUST = ("prefix", "exit", "world_size", "nccl_init", "rank_assign", "tag")
"""What ties a pid to a rank, the most trusted first: torch's own prefix, a launcher's table, the process's own words, its tag."""


def votes(places: Places, digests: Sequence[Digest], facts: Sequence[Fact], keys_of: dict[tuple[int, int], list[Key]], world: int | None) -> dict[Key, dict[str, Counter[int]]]:
    """For each pid, which ranks it is said to have, by kind of evidence."""
    counted: dict[Key, dict[str, Counter[int]]] = {}

    def vote(pid: Key | None, kind: str, rank: int | None) -> None:
        if pid is not None and rank is not None:
            counted.setdefault(pid, {}).setdefault(kind, Counter())[rank] += 1

    for (source, header), keys in keys_of.items():
        pid = next((k for k in keys if k[0] == "pid"), None)
        fields = digests[source].headers.known[header].fields
        vote(pid, "prefix" if "rank" in fields else "tag", next((int(str(k[1])) for k in keys if k[0] in ("rank", "tag")), None))
    for fact in facts:
        keys = keys_of.get((fact.source, fact.header), [])
        scope = fact.host or places.header.get((fact.source, fact.header)) or places.source.get(fact.source) or f"source {fact.source}"
        pid = next((k for k in keys if k[0] == "pid"), None)
        if fact.kind == "exit" and fact.pid is not None:
            vote(("pid", scope, fact.pid), "exit", fact.rank)
        elif fact.kind == "pid" and pid is None and fact.pid is not None:
            vote(("pid", scope, fact.pid), "prefix", next((int(str(k[1])) for k in keys if k[0] == "rank"), None))
        elif fact.kind in ("world_size", "rank_assign"):
            vote(pid, fact.kind, fact.rank)
        elif fact.kind in ("nccl_init", "nccl_ag3") and fact.nranks == world:
            vote(pid, "nccl_init", fact.comm_rank)
    return counted


def elected(counted: dict[str, Counter[int]], conflicts: list[str], pid: Key) -> int | None:
    """The rank that the most trusted evidence agrees on; evidence that contradicts itself is passed over."""
    for kind in _TRUST:
        if kind not in counted:
            continue
        rank, most = counted[kind].most_common(1)[0]
        if 10 * most >= 9 * counted[kind].total():
            return rank
        if len(conflicts) < 20:
            conflicts.append(f"pid {pid[2]} on {pid[1]} is called rank {', '.join(map(str, sorted(counted[kind])[:4]))} by its {kind} lines")
    return None


def shared_ranks(ranks: dict[Key, int], digests: Sequence[Digest], keys_of: dict[tuple[int, int], list[Key]]) -> set[Key]:
    """Pids that claim a rank that another pid has too: data-parallel engines that each count from 0, replicas on other nodes."""
    spans: dict[Key, tuple[int, int, int]] = {}
    for (source, header), keys in keys_of.items():
        use = digests[source].uses[header]
        for key in keys:
            if key in ranks:
                old = spans.get(key, (source, use.first_line, use.last_line))
                spans[key] = (source, min(old[1], use.first_line), max(old[2], use.last_line)) if old[0] == source else old
    by_rank: dict[int, list[Key]] = {}
    for key in spans:
        by_rank.setdefault(ranks[key], []).append(key)
    shared: set[Key] = set()
    for keys in by_rank.values():
        if len({key[1] for key in keys}) > 1:
            shared.update(keys)  # a rank is on one node: these are of several deployments
            continue
        found = sorted(keys, key=lambda k: spans[k])
        for a, b in zip(found, found[1:], strict=False):
            if spans[a][0] == spans[b][0] and spans[b][1] <= spans[a][2]:
                shared |= {a, b}
    return shared
