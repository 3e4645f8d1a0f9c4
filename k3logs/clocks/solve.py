"""Clock offsets between nodes from what must have happened before what.

Each node's clock shows true time plus an offset. An event ``a`` on node ``i`` that certainly happened before ``b`` on
node ``j`` bounds the offsets: ``o_j - o_i <= hi_b - lo_a``, whatever the delay between them. Shortest paths over all such
bounds give an interval for every pair of nodes; a negative cycle means that a clock stepped or an assumption is wrong,
and the least certain constraints on it are dropped.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

MANY, HUBS = 400, 48
"""Nodes beyond which not every path between clocks is followed, and nodes that paths then go through."""


@dataclass(frozen=True, slots=True)
class Before:
    """``earlier`` happened before ``later``: ``o_later - o_earlier <= bound`` seconds.

    ``trust`` orders what is dropped first when constraints contradict each other (low goes first).
    """

    earlier: int
    later: int
    bound: float
    kind: str
    trust: int = 1


@dataclass(frozen=True, slots=True)
class Near:
    """Two events at nearly the same true time: ``o_b - o_a`` is about ``difference`` seconds."""

    a: int
    b: int
    difference: float
    kind: str


@dataclass(slots=True)
class Offset:
    """A node's clock against the reference: ``offset`` seconds ahead, certainly within ``low`` and ``high``."""

    offset: float | None
    low: float | None
    high: float | None
    anchors: int = 0
    spread: float | None = None


@dataclass(slots=True)
class Solution:
    """Offsets of all nodes against node ``reference``; ``bounds[i, j]`` is the greatest possible ``o_j - o_i``."""

    reference: int
    offsets: list[Offset]
    bounds: Matrix
    dropped: list[Before] = field(default_factory=list)

    def certainly_before(self, i: int, hi_a: float, j: int, lo_b: float) -> bool:
        """Whether an event on node ``i`` that ended by ``hi_a`` (its clock) is before one on ``j`` that began at ``lo_b``."""
        # true a <= hi_a - o_i, true b >= lo_b - o_j: need lo_b - hi_a > o_j - o_i for every possible offset
        return bool(lo_b - hi_a > self.bounds[i, j])


def close(matrix: Matrix) -> Matrix:
    """All-pairs shortest paths (Floyd and Warshall).

    Of more than :data:`MANY` nodes, paths go only through the :data:`HUBS` that most others are tied to: bounds are then less tight, never wrong.
    """
    matrix = matrix.copy()
    tied = np.isfinite(matrix) & ~np.eye(len(matrix), dtype=bool)
    ways = np.count_nonzero(tied, axis=0) * np.count_nonzero(tied, axis=1)
    through = np.flatnonzero(ways)
    if len(matrix) > MANY:
        through = through[np.argsort(-ways[through], kind="stable")][:HUBS]
    for k in through:
        into, out = np.flatnonzero(np.isfinite(matrix[:, k])), np.flatnonzero(np.isfinite(matrix[k]))
        if len(into) * len(out) * 2 > matrix.size:
            np.minimum(matrix, matrix[:, k, None] + matrix[None, k, :], out=matrix)
        else:
            some = np.ix_(into, out)
            matrix[some] = np.minimum(matrix[some], matrix[into, k, None] + matrix[None, k, out])
    return matrix


def solve(nodes: int, before: list[Before], near: list[Near], reference: int = 0) -> Solution:
    """Solve for all offsets.

    Args:
        nodes: how many nodes; ``reference`` is the one with offset 0.
        before: hard constraints.
        near: soft ones, for the estimate inside the hard interval.
    """
    kept, dropped = list(before), list[Before]()
    while True:
        bounds = np.full((nodes, nodes), np.inf)
        np.fill_diagonal(bounds, 0.0)
        tightest: dict[tuple[int, int], Before] = {}
        for c in kept:
            if c.earlier != c.later and c.bound < bounds[c.earlier, c.later]:
                bounds[c.earlier, c.later] = c.bound
                tightest[c.earlier, c.later] = c
        closed = close(bounds)
        bad = np.flatnonzero(np.diagonal(closed) < -1e-9)
        if not len(bad):
            break
        # every constraint between nodes of a negative cycle is a suspect; the least trusted and tightest goes
        suspects = [c for (i, j), c in tightest.items() if closed[j, i] + c.bound < -1e-9] or list(tightest.values())
        worst = min(suspects, key=lambda c: (c.trust, c.bound))
        kept.remove(worst)
        dropped.append(worst)
    estimates = _estimate(nodes, near, reference)
    anchors = [0] * nodes
    for pair in [*((c.earlier, c.later) for c in kept), *((s.a, s.b) for s in near)]:
        for n in {*pair}:
            anchors[n] += 1
    offsets = []
    for n in range(nodes):
        if n == reference:
            offsets.append(Offset(0.0, 0.0, 0.0, anchors[n] - sum(n in (s.a, s.b) for s in near), 0.0))
            continue
        high, low = closed[reference, n], -closed[n, reference]
        soft, spread = estimates[n]
        if soft is None and np.isfinite(low) and np.isfinite(high):
            soft, spread = (low + high) / 2, (high - low) / 2
        if soft is not None:
            soft = float(min(max(soft, low), high))
        offsets.append(Offset(soft, float(low) if np.isfinite(low) else None, float(high) if np.isfinite(high) else None, anchors[n], spread))
    return Solution(reference, offsets, closed, dropped)


def _estimate(nodes: int, near: list[Near], reference: int) -> list[tuple[float | None, float | None]]:
    """Median differences along the shortest chain of soft links from the reference; with their spread."""
    links: dict[int, dict[int, list[float]]] = {}
    for n in near:
        links.setdefault(n.a, {}).setdefault(n.b, []).append(n.difference)
        links.setdefault(n.b, {}).setdefault(n.a, []).append(-n.difference)
    found: list[tuple[float | None, float | None]] = [(None, None)] * nodes
    found[reference] = (0.0, 0.0)
    queue = deque([reference])
    while queue:
        a = queue.popleft()
        base, width = found[a]
        for b, values in links.get(a, {}).items():
            if found[b][0] is None:
                middle = median(values)
                spread = median(abs(v - middle) for v in values)
                found[b] = ((base or 0.0) + middle, (width or 0.0) + spread)
                queue.append(b)
    return found
