"""How far each rank came in the start-up, by what it printed itself: the one that lacks what all others passed lags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from k3logs.identity.cast import Cast
from k3logs.incidents.phase import Mark

FEWEST = 3
"""Ranks from which on a milestone that one rank lacks says something: of two, one prints more for both."""

_OF_ALL = frozenset({"weight_load", "memory_profile", "compile", "kv_cache", "graph_capture"})
"""Phases that every rank goes through; what stands before them an executor prints for its workers."""

_EACH = frozenset({"Init START"})
"""Earlier milestones that each rank prints for itself (NCCL's src/init.cc)."""


def passed(marks: Sequence[Mark], cast: Cast) -> dict[int, frozenset[str]]:
    """Rank -> the milestones of the start-up that it printed, for all ranks that are known."""
    ranks = {p.id: p.rank for p in cast.processes if p.rank is not None}
    found: dict[int, set[str]] = {rank: set() for rank in ranks.values()}
    for mark in marks:
        if mark.process in ranks and (mark.phase in _OF_ALL or mark.words in _EACH):
            found[ranks[mark.process]].add(mark.words)
    return {rank: frozenset(words) for rank, words in found.items()}


def lagging(reached: Mapping[int, frozenset[str]]) -> tuple[int, str] | None:
    """The only rank that lacks a milestone which all other ranks passed: ``(rank, words of the milestone)``.

    What one rank prints for all others, or the first of each node for its node, is no milestone of all.
    """
    if len(reached) < FEWEST:
        return None
    lacks: dict[int, str] = {}
    for words in sorted(set().union(*reached.values()) - {""}):
        without = [rank for rank, own in reached.items() if words not in own]
        if len(without) == 1:
            lacks[without[0]] = words
    return next(iter(lacks.items())) if len(lacks) == 1 else None
