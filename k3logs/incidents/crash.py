"""A crash: of all failures that could be the first, which was?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from k3logs.clocks.when import Times
from k3logs.incidents import order
from k3logs.incidents.exits import Exit
from k3logs.incidents.failure import LOUD_SPECIFICITY, Failure
from k3logs.incidents.fingerprint import fingerprint
from k3logs.incidents.order import before

MOST_RANKS = 4096
"""Size of a world up to which absent ranks are looked for."""

_BETWEEN = frozenset({"communication", "network", "interconnect"})
"""Categories of failures that another rank may have caused."""

SAME_MOMENT = 30.0
"""Seconds within which one failure on many ranks is one failure of all."""

MANY = 2
"""Ranks with the same error beyond which it looks like a consequence next to one rank's own."""

CLEARLY = 30
"""Difference in specificity that outweighs the order in one file."""

_TIER = {"worker": 0, "kernel": 0, "other": 1, "engine": 2, "api": 3, "launcher": 4}


@dataclass(slots=True)
class Choice:
    """The root that was chosen, by which rule, and why.

    Attributes:
        rule: name of the rule that decided; its hit rate is in ``k3logs/verdict/data/rules.toml``.
        others: further candidates, best first.
        ranks: all ranks that failed alike, for a failure of many.
        penalties: named reasons for less confidence.
        blames: False where the root is only a witness and no rank is blamed.
        between: nodes whose path failed, where neither of them is blamed.
    """

    root: Failure | None
    rule: str
    why: list[str] = field(default_factory=list)
    others: list[Failure] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    penalties: list[str] = field(default_factory=list)
    kind: str = "crash"
    blames: bool = True
    between: tuple[str, ...] = ()


def choose(candidates: Sequence[Failure], times: Times, world: int | None, exits: Sequence[Exit] = (), known: Sequence[int] = ()) -> Choice:
    """The first failure among candidates, none of which is known to follow from another.

    Args:
        known: all ranks that the logs name.
        exits: what launchers say of ends; of candidates whose order is not certain, the one that a launcher saw end first.
    """
    strong = [c for c in candidates if c.specificity > LOUD_SPECIFICITY + 10] or list(candidates)
    ordered = sorted(strong, key=lambda c: (c.low, c.event.source, c.line))
    if len(ordered) == 1:
        only = ordered[0]
        if (workers := _nameless_workers(ordered)) > 1:
            return Choice(only, "crash.all_ranks", [f"the same failure in {workers} workers, none of which says its rank"], kind="spmd", blames=False)
        return Choice(only, "crash.only" if only.observed else "death.named",
                      ["it is the only failure in the logs that no other explains" if only.observed else "nothing that it printed explains its death"])
    groups: dict[str, list[Failure]] = {}
    for c in ordered:
        groups.setdefault(fingerprint(c), []).append(c)
    minimal = order.minimal(ordered, times)
    ended_first = {e.process.rank for e in exits if e.first and e.process.rank is not None}
    launcher = [c for c in minimal if rank_of(c) in ended_first]
    nodes = {e.source for e in exits if e.first}
    seen_first = len(launcher) >= 1 and len(nodes) == 1 and all(c.event.source in nodes for c in minimal)
    killed = [c for c in minimal if _was_killed(c) and all(o is c or o.event.source == c.event.source and o.line > c.line and o.low >= c.low for o in minimal)]
    first = min(launcher if seen_first else killed or minimal or ordered, key=_preference)
    alike = groups[fingerprint(first)]
    ranks = sorted({r for c in alike if (r := rank_of(c)) is not None})
    for c in ordered:
        if c is not first and c.process is not None and c.process is first.process and before(first, c, times):
            c.role = "cascade"
            c.reasons.append("its process had failed before")
    same = set(map(id, alike))
    others = [c for c in ordered if id(c) not in same and c.role != "cascade"]
    if not seen_first and (untied := _untied(first, minimal, alike, times)):
        return _without_order(first, untied, alike, groups, others)
    if len(ranks) > 1 and max(c.low for c in alike) - min(c.low for c in alike) <= SAME_MOMENT and 2 * len(ranks) > (world or len(ranks)):
        if (odd := _odd_rank(first, alike, ranks, world, known, ordered, times)) is not None:
            return odd
        return Choice(first, "crash.all_ranks", [f"the same failure on {len(ranks)} ranks within {SAME_MOMENT:.0f} s"], others, ranks, kind="spmd")
    if (workers := _nameless_workers(alike)) > 1:
        return Choice(first, "crash.all_ranks", [f"the same failure in {workers} workers, none of which says its rank"], others, kind="spmd", blames=False)
    why = []
    if killed and first in killed:
        rule = "crash.killed"
        why.append("its death by a signal from outside is reported before any other candidate's error")
    elif all(before(first, o, times) for o in ordered if o is not first):
        rule = "crash.first"
        why.append("it is certainly before every other candidate, clock bounds included")
    elif len(minimal) == 1:
        rule = "crash.first"
        why.append("no other candidate can be before it")
    elif seen_first:
        rule = "crash.launcher"
        why.append("of the candidates it is the one whose process the launcher saw end first")
    else:
        rule = "crash.likely"
        why.append(f"the order of {len(minimal)} candidates is not certain; this one names a cause most precisely")
    return Choice(first, rule, why, others, ranks if len(ranks) > 1 else [])


def _odd_rank(first: Failure, alike: Sequence[Failure], ranks: list[int], world: int | None, known: Sequence[int], ordered: Sequence[Failure], times: Times) -> Choice | None:
    """Of all ranks but one that fail alike, the one that fails differently, or not at all, is the likelier cause: they were waiting for it."""
    everyone = range(world) if world is not None and world <= MOST_RANKS else known
    missing = [rank for rank in everyone if rank not in ranks]
    if len(missing) != 1 or len(ranks) < MANY:
        return None
    rank = missing[0]
    own = [c for c in ordered if rank_of(c) == rank and not any(before(a, c, times) for a in alike)]
    if own:
        why = [f"rank {rank} alone failed in its own way; the {len(ranks)} others all have the same other error"]
        return Choice(own[0], "crash.own_error", why, [first])
    if first.role == "symptom" or (first.signature is not None and first.signature.category in _BETWEEN):
        first.victim_rank, first.observed = rank, False
        return Choice(first, "hang.odd_one_out", [f"all other ranks report the same of a connection; rank {rank} reports nothing"], [], [], [], "hang")
    return None


def _was_killed(c: Failure) -> bool:
    """Whether a failure is the report of a SIGKILL that nothing explains; a report comes after the death."""
    return not c.observed and c.fields.get("exit_code", "") in ("-9", "137")


def _nameless_workers(alike: Sequence[Failure]) -> int:
    """How many workers tell the same failure, where none says its rank."""
    tellings = [t for f in alike for t in [f, *f.copies]]
    if any(rank_of(t) is not None for t in tellings):
        return 0
    return len({t.process.id for t in tellings if t.process is not None and t.process.kind == "worker"})


def _untied(first: Failure, minimal: Sequence[Failure], alike: Sequence[Failure], times: Times) -> list[Failure]:
    """Candidates of other nodes as telling as ``first``, whose clocks nothing ties to its own."""
    same = set(map(id, alike))
    return [m for m in minimal if id(m) not in same and m.node != first.node and m.specificity // CLEARLY >= first.specificity // CLEARLY
            and times.between(first.node, m.node) == float("inf")]


def _without_order(first: Failure, untied: list[Failure], alike: list[Failure], groups: dict[str, list[Failure]], others: list[Failure]) -> Choice:
    """Failures on nodes whose clocks nothing ties: one rank's own error against the same error on many may still be told apart."""
    lonely = [c for c in [first, *untied] if len(groups[fingerprint(c)]) == 1]
    crowd = max(len(groups[fingerprint(c)]) for c in [first, *untied])
    if len(lonely) == 1 and crowd > MANY:
        why = [f"it is one rank's own error; {crowd} ranks of another node all have the same other one", "nothing ties the clocks of these nodes"]
        return Choice(lonely[0], "crash.own_error", why, [c for c in [first, *untied] if c is not lonely[0]][:1] + [o for o in others if o is not lonely[0]],
                      penalties=["clocks not tied"])
    why = [f"nothing ties the clocks of {first.node} and {untied[0].node}, so {1 + len(untied)} failures have no order"]
    return Choice(first, "crash.untied", why, others, penalties=["clocks not tied"], blames=False)


def rank_of(c: Failure) -> int | None:
    """The rank that a candidate blames."""
    return c.victim_rank if c.victim_rank is not None else c.process.rank if c.process else None


def _preference(c: Failure) -> tuple[int, int, bool, float, int, int]:
    tier = _TIER[c.process.kind] if c.process else 1
    nameless = rank_of(c) is None and c.victim_node is None
    return (-(c.specificity // CLEARLY), tier, nameless, c.low, c.event.source, c.line)
