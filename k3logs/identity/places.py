"""Where a log comes from: its node, the hosts of its pods, and whether it is one rank's own file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from k3logs.events.digest import Digest
from k3logs.identity.process import kind_of


def node_of_source(digest: Digest, several: bool, hosts: frozenset[str]) -> str | None:
    """The node of a source: the one host its lines name, else its pod, else what its path says.

    A file that is named after a host that other logs name (``hosts``) is that host's.
    """
    fields = [digest.headers.known[h].fields for h in digest.uses]
    hints = digest.source.hints
    stem = PurePath(digest.source.name).name.split(".")[0]
    if stem in hosts:
        return stem
    for name in ("node", "host"):
        values = Counter(f[name] for f in fields if name in f)
        if len(values) == 1:
            return next(iter(values))
    if "node" in hints:
        return hints["node"]
    pods = {f["pod"] for f in fields if "pod" in f}
    if len(pods) == 1:
        return next(iter(pods))
    for name in ("pod", "container"):
        if name in hints:
            return hints[name]
    return stem or None if several and not pods else None


def hosts_of_units(digests: Sequence[Digest]) -> dict[str, str]:
    """The host of each pod or service, where its lines name one host."""
    seen: dict[str, set[str]] = {}
    for digest in digests:
        for header in digest.uses:
            fields = digest.headers.known[header].fields
            unit = fields.get("pod") or fields.get("service")
            if unit and "host" in fields:
                seen.setdefault(unit, set()).add(fields["host"])
    return {unit: next(iter(hosts)) for unit, hosts in seen.items() if len(hosts) == 1}


def is_one_ranks_file(digest: Digest) -> bool:
    """Whether a source is named after a rank and holds lines of no other: ``tp8_rank3_dies.log`` is named so, too."""
    hint = digest.source.hints.get("rank")
    if hint is None:
        return False
    fields = [digest.headers.known[h].fields for h in digest.uses]
    names = {f["process"] for f in fields if "process" in f}
    return {f["rank"] for f in fields if "rank" in f} <= {hint} and len(names) <= 1 and not any(kind_of(n) in ("api", "engine") for n in names)
