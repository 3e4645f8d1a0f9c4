"""Facts of several nodes -> one clock: which lines bound which clocks, and the solution."""

from __future__ import annotations

from collections.abc import Sequence

from k3logs.clocks.solve import MANY, Before, Near, solve
from k3logs.clocks.when import Times
from k3logs.identity.cast import Cast
from k3logs.identity.facts import Fact

_NEXT = {"START": ("BOOTSTRAP", "TOPOLOGY", "COMPLETE"), "BOOTSTRAP": ("TOPOLOGY", "COMPLETE"), "TOPOLOGY": ("COMPLETE",)}
"""Every rank has printed the first before any rank prints one of the others (NCCL's init.cc and bootstrap.cc)."""

_EXITS = ("BOOTSTRAP", "TOPOLOGY", "COMPLETE")


def align(times: Times, facts: Sequence[Fact], cast: Cast) -> None:
    """Solve the clocks of all nodes that the facts tie together, and keep the solution in ``times``."""
    nodes = cast.nodes
    times.node_number = {node: n for n, node in enumerate(nodes)}
    if not nodes:
        return
    before: list[Before] = []
    near: list[Near] = []
    by_comm: dict[str, dict[str, dict[int, list[tuple[float, float]]]]] = {}
    for fact in facts:
        node = fact.host or cast.header_node.get((fact.source, fact.header)) or cast.source_node.get(fact.source)
        if fact.step is None or fact.comm_id is None or node not in times.node_number:
            continue
        interval = times.hard(fact.source, fact.line)
        by_comm.setdefault(fact.comm_id, {}).setdefault(fact.step, {}).setdefault(times.node_number[node or ""], []).append(interval)
    for steps in by_comm.values():
        for step, later in _NEXT.items():
            for name in later:
                before += _constraints(steps.get(step, {}), steps.get(name, {}), f"{step} before {name}")
        for name in _EXITS:
            near += _simultaneous(steps.get(name, {}), name)
    times.solution = solve(len(nodes), before, near)


def _constraints(earlier: dict[int, list[tuple[float, float]]], later: dict[int, list[tuple[float, float]]], kind: str) -> list[Before]:
    lows = {i: low for i, starts in earlier.items() if (low := max((lo for lo, _ in starts), default=float("-inf"))) != float("-inf")}
    highs = {j: high for j, ends in later.items() if (high := min((hi for _, hi in ends), default=float("inf"))) != float("inf")}
    if len(lows) <= MANY and len(highs) <= MANY:
        pairs = [(i, j) for i in lows for j in highs]
    else:  # so many pairs say little more than each node with the one that was quickest, the last to start and the first to end
        quick = sorted(lows.keys() & highs.keys(), key=lambda n: (highs[n] - lows[n], n))[:1]
        first = {*quick, *sorted(highs, key=lambda n: (highs[n], n))[:1]}
        last = {*quick, *sorted(lows, key=lambda n: (-lows[n], n))[:1]}
        pairs = [*((i, j) for i in lows for j in first), *((i, j) for i in last for j in highs)]
    return [Before(i, j, highs[j] - lows[i], kind) for i, j in pairs if i != j]


def _simultaneous(exits: dict[int, list[tuple[float, float]]], kind: str) -> list[Near]:
    """First exits of one barrier on each node are near-simultaneous."""
    first = {n: min(hi for _, hi in spans) for n, spans in exits.items() if spans}
    nodes = sorted(first)
    return [Near(a, b, first[b] - first[a], kind) for a, b in zip(nodes, nodes[1:], strict=False) if abs(first[b]) != float("inf") and abs(first[a]) != float("inf")]
