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
    stem = own_name(digest.source.name)
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
    return stem if several and not pods else None


def own_name(path: str) -> str | None:
    """What a path calls its node: the file's name without words for the kind of log, else its folder; None where neither says anything.

    ``gx-7-dmesg.txt``, ``dmesg_gx-7.log``, ``gx-7.kern.log`` and ``gx-7/dmesg.txt`` are all of ``gx-7``.
    """
    parts = PurePath(path).parts
    for part in [parts[-1].split(".")[0], *parts[-2:-1]] if parts else []:
        words = part.replace("_", "-").split("-")
        low, high = 0, len(words)
        while low < high and words[low].lower() in _KINDS:
            low += 1
        while low < high and words[high - 1].lower() in _KINDS:
            high -= 1
        if low < high and not "".join(words[low:high]).isdigit():
            left = sum(len(word) + 1 for word in words[:low])
            return part[left : left + len("-".join(words[low:high]))]
    return None


_KINDS = frozenset({"dmesg", "kern", "kernel", "journal", "journalctl", "syslog", "messages", "log", "logs", "vllm", "docker", "container", "serve", "server",
                    "stdout", "stderr", "out", "err", "output", "combined", "events", "console", "previous", "current", "error"})
"""Words in names of logs that say what kind of log it is, not whose."""


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
