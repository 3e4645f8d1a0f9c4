"""How many ranks each parallel dimension has, and which of these numbers are sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from k3logs.events.digest import Digest
from k3logs.identity.facts import Fact
from k3logs.identity.process import DIMENSIONS, parallel_of


@dataclass(frozen=True, slots=True)
class Sizes:
    """``of``: dimension -> size; a size that is not ``sure`` is only what the tags seen so far need."""

    of: dict[str, int]
    sure: frozenset[str]


def sizes(digests: Sequence[Digest], facts: Sequence[Fact], world: int | None) -> Sizes:
    """As configured, else one more than the highest tag.

    Tags alone are sure where they fill their grid, or where their sizes make the world; a rank's own words ("rank 9 is assigned
    as PP rank 1, TP rank 1") give the size that they need. A log cut short may hold the tags of a few ranks only.
    """
    tags = {tuple(sorted(found.items())) for d in digests for h in d.uses if (found := parallel_of(d.headers.known[h].fields.get("process", "")))}
    grids = [{k: v for k, v in tag if k in DIMENSIONS} for tag in tags]
    of: dict[str, int] = {}
    for grid in grids:
        for name, value in grid.items():
            of[name] = max(of.get(name, 1), value + 1)
    # a dimension that no tag names has one rank
    sure = set(DIMENSIONS) - set(of)
    filled = {tuple(grid.get(name, 0) for name in DIMENSIONS) for grid in grids}
    if len(filled) == prod(of.values()) or (world is not None and world in (prod(of.values()), prod(v for k, v in of.items() if k != "dp"))):
        sure = set(DIMENSIONS)
    for fact in facts:
        found = {**_of_assignment(fact), **fact.sizes}
        of.update({name: size for name, size in found.items() if size >= of.get(name, 1)})
        sure |= found.keys()
    return Sizes(of, frozenset(sure))


def _of_assignment(fact: Fact) -> dict[str, int]:
    """The size of the innermost dimension that a rank's place in all of them gives."""
    if fact.kind != "rank_assign" or fact.rank is None:
        return {}
    outer = [name for name in DIMENSIONS[:-1] if fact.parallel.get(name)]
    inner = fact.parallel.get("tp", 0)
    return {"tp": (fact.rank - inner) // fact.parallel["pp"]} if outer == ["pp"] and not (fact.rank - inner) % fact.parallel["pp"] else {}
