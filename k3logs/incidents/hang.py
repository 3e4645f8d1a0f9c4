"""A hang: only time-outs and no first error. The culprit is the rank that did not come, not the one that spoke first."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from k3logs.identity.cast import Cast
from k3logs.incidents.crash import Choice
from k3logs.incidents.failure import Failure
from k3logs.incidents.milestones import lagging


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "data" / "stops.toml").read_text())


@dataclass(slots=True)
class Collective:
    """What one rank said of one process group: the last sequence numbers, and the operation that timed out."""

    rank: int
    group: str
    enqueued: int | None = None
    completed: int | None = None
    seq: int | None = None
    op: str | None = None
    size: int | None = None


def choose(symptoms: Sequence[Failure], handled: Sequence[Failure], collectives: Sequence[Collective], cast: Cast, last_seen: dict[int, float],
           milestones: Mapping[int, frozenset[str]] = MappingProxyType({})) -> Choice:
    """Who did not come?

    Args:
        symptoms: time-outs and waits, none explained by a failure.
        handled: failures after which their process went on: the reason why a rank fell behind, perhaps.
        last_seen: rank -> aligned time of its last ordinary line, seconds.
        milestones: rank -> what it printed of the start-up.
    """
    witness = min(symptoms, key=lambda s: (-s.specificity, s.low, s.event.source, s.line))
    for rule, ranks, why in (_named(symptoms), _stuck(symptoms), _behind(collectives), _mismatch(collectives), _odd_one_out(symptoms, cast), _lagging(milestones), _absent(symptoms, cast), _silent(symptoms, cast, last_seen)):
        if len(ranks) == 1:
            return _culprit(ranks[0], rule, why, witness, symptoms, handled, cast)
        if len(ranks) > 1 and rule == "hang.named":
            return Choice(witness, rule, [why], list(symptoms[1:3]), ranks, ["several ranks are named"], "hang", False)
    if (odd := _odd_engine(symptoms, cast)) is not None:
        return Choice(witness, "hang.odd_one_out", [odd], list(symptoms[1:3]), [], ["the silent one is an engine, not a rank"], "hang", False)
    joined = next((s for s in symptoms if "joined" in s.fields and "expected" in s.fields), None)
    if joined is not None:
        short = int(joined.fields["expected"]) - int(joined.fields["joined"])
        return Choice(joined, "hang.never_joined", [f"{short} of {joined.fields['expected']} never joined; the logs do not say which"], [], [],
                      ["the missing one is not named"], "hang", False)
    return Choice(witness, "hang.unknown", ["only time-outs are in the logs; no rank is shown to be behind the others"], list(symptoms[1:3]), [],
                  ["no rank could be singled out"], "hang", False)


def _culprit(rank: int, rule: str, why: str, witness: Failure, symptoms: Sequence[Failure], handled: Sequence[Failure], cast: Cast) -> Choice:
    own = [f for f in handled if f.process is not None and f.process.rank == rank]
    if own:
        root = min(own, key=lambda f: (f.low, f.line))
        root.role = "initiating"
        return Choice(root, rule, [why, f"rank {rank} met this error before it fell behind"], list(symptoms[:2]), [], [], "hang")
    pointing = [s for s in symptoms if _names(s) == [rank]]
    root = min(pointing or [witness], key=lambda s: (-s.specificity, s.low, s.line))
    root.victim_rank, root.observed = rank, False
    return Choice(root, rule, [why], [s for s in symptoms if s is not root][:2], [], [], "hang")


def _names(symptom: Failure) -> list[int]:
    """Ranks that a message names as the ones waited for."""
    text = symptom.fields.get("missing_rank", "") or symptom.fields.get("peer_rank", "")
    return [int(t) for t in text.replace(",", " ").split() if t.isdigit()]


def _named(symptoms: Sequence[Failure]) -> tuple[str, list[int], str]:
    """Ranks that messages name, followed to the end: a named rank that itself waits for another is a victim."""
    waits: dict[int, list[int]] = {}
    named: Counter[int] = Counter()
    for s in symptoms:
        targets = _names(s)
        own = s.process.rank if s.process else None
        for target in targets:
            if target != own:
                named[target] += 1
                if own is not None:
                    waits.setdefault(own, []).append(target)
    ends = [rank for rank in named if not any(t != rank for t in waits.get(rank, []))]
    if not ends and named:
        # each names another (a mismatch seen from both sides): the majority is right
        top = max(named.values())
        ends = [rank for rank, count in named.items() if count == top]
    return "hang.named", sorted(ends), f"messages of other ranks say that they wait for rank {', '.join(map(str, sorted(ends)))}"


def named(symptoms: Sequence[Failure]) -> int | None:
    """The one rank that messages name as the one waited for, None where they name none or several."""
    _, ranks, _ = _named(symptoms)
    return ranks[0] if len(ranks) == 1 else None


def _stuck(symptoms: Sequence[Failure]) -> tuple[str, list[int], str]:
    """The only rank whose own watchdog says that it stands still."""
    words = tuple(_data()["stuck"])
    ranks = sorted({s.process.rank for s in symptoms if s.text.startswith(words) and s.process is not None and s.process.rank is not None})
    return "hang.stuck", ranks if len(ranks) == 1 else [], f"the watchdog of rank {ranks[0] if ranks else '?'} says that it stands still; no other rank's does"


def _odd_engine(symptoms: Sequence[Failure], cast: Cast) -> str | None:
    """The only engine that reports nothing, where all others report that they wait."""
    engines = {p.id: p for p in cast.processes if p.kind == "engine" and p.name}
    told = {t.process.id for s in symptoms for t in (s, *s.copies) if t.process is not None and t.process.id in engines}
    silent = [p for id, p in engines.items() if id not in told]
    return f"every other engine reports that it waits; {silent[0].name} reports nothing" if len(silent) == 1 and len(told) >= 2 else None


def _behind(collectives: Sequence[Collective]) -> tuple[str, list[int], str]:
    """The only rank whose last enqueued operation is lower than all others' in the same group."""
    by_group: dict[str, dict[int, int]] = {}
    for c in collectives:
        number = c.enqueued if c.enqueued is not None else c.seq
        if number is not None:
            ranks = by_group.setdefault(c.group, {})
            ranks[c.rank] = max(number, ranks.get(c.rank, number))
    for group, ranks in by_group.items():
        low, high = min(ranks.values()), max(ranks.values())
        laggards = [r for r, n in ranks.items() if n == low]
        if low < high and len(laggards) < len(ranks):
            return "hang.behind", laggards, f"in process group {group} rank {laggards[0]} had enqueued operation {low}, the others {high}"
    return "hang.behind", [], ""


def _mismatch(collectives: Sequence[Collective]) -> tuple[str, list[int], str]:
    """The only rank whose operation at the same sequence number is another one, or of another size."""
    works: dict[tuple[str, int], dict[int, tuple[str, int | None]]] = {}
    for c in collectives:
        if c.seq is not None and c.op:
            works.setdefault((c.group, c.seq), {})[c.rank] = (c.op, c.size)
    for (group, seq), ranks in works.items():
        counted = Counter(ranks.values()).most_common()
        if len(ranks) > 2 and len(counted) == 2 and counted[-1][1] == 1:
            odd = next(r for r, work in ranks.items() if work == counted[-1][0])
            (op, size), (most, other) = counted[-1][0], counted[0][0]
            return "hang.mismatch", [odd], f"as operation {seq} of process group {group} rank {odd} ran {op} of {size} elements, the others {most} of {other}"
    return "hang.mismatch", [], ""


def _odd_one_out(symptoms: Sequence[Failure], cast: Cast) -> tuple[str, list[int], str]:
    """The only known rank that reported nothing."""
    told = {s.process.rank for s in symptoms if s.process and s.process.rank is not None}
    silent = [r for r in cast.ranks if r not in told]
    return "hang.odd_one_out", silent if len(told) >= 2 else [], f"every other rank reports that it waits; rank {silent[0] if silent else '?'} reports nothing"


def _lagging(milestones: Mapping[int, frozenset[str]]) -> tuple[str, list[int], str]:
    """The only rank that lacks a milestone of the start-up which all others passed."""
    behind = lagging(milestones)
    if behind is None:
        return "hang.lagging", [], ""
    return "hang.lagging", [behind[0]], f"rank {behind[0]} is the only one that did not print {behind[1]!r}, which {len(milestones) - 1} others did"


def _absent(symptoms: Sequence[Failure], cast: Cast) -> tuple[str, list[int], str]:
    """The only rank of the world without a log."""
    missing = cast.missing()
    return "hang.absent", missing, f"rank {missing[0] if missing else '?'} of {cast.world} is not in the logs at all"


def _silent(symptoms: Sequence[Failure], cast: Cast, last_seen: dict[int, float]) -> tuple[str, list[int], str]:
    """The rank that fell silent clearly before the others."""
    if len(last_seen) < 2 or len(last_seen) < max(len(cast.by_rank), cast.world or 0):
        return "hang.silent", [], ""
    order = sorted(last_seen, key=lambda r: last_seen[r])
    if last_seen[order[1]] - last_seen[order[0]] < 2.0:
        return "hang.silent", [], ""
    if any(s.process is not None and s.process.rank == order[0] for s in symptoms):
        return "hang.silent", [], ""  # it reports that it waits, too
    return "hang.silent", order[:1], f"rank {order[0]} fell silent {last_seen[order[1]] - last_seen[order[0]]:.0f} s before the next"
