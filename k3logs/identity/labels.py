"""What the task numbers mean that ``srun --label`` and ``mpirun --tag-output`` put before lines: ranks, or nodes with many ranks each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from k3logs.events.digest import Digest
from k3logs.identity.facts import Fact
from k3logs.identity.process import kind_of, parallel_of

FIELD = "job_rank"


def are_ranks(digests: Sequence[Digest], facts: Sequence[Fact]) -> bool:
    """Whether tasks are ranks: not where a label stands before another rank's words, before several workers, or alone."""
    labels: set[str] = set()
    workers: dict[str, set[str]] = {}
    for digest in digests:
        for header in digest.uses:
            fields = digest.headers.known[header].fields
            if (label := fields.get(FIELD)) is None:
                continue
            labels.add(label)
            if fields.get("rank", label) != label:
                return False
            if kind_of(fields.get("process")) == "worker":
                workers.setdefault(label, set()).add(fields.get("pid") or fields["process"])
    if len(labels) < 2 or any(len(pids) > 1 for pids in workers.values()):
        return False
    for fact in facts:
        label = digests[fact.source].headers.known[fact.header].fields.get(FIELD)
        if label is not None and fact.kind in ("world_size", "rank_assign") and fact.rank is not None and fact.rank != int(label):
            return False
    return True


def hosts(digests: Sequence[Digest]) -> dict[str, str]:
    """Task -> the host that most of its lines name, for tasks that are not ranks."""
    seen: dict[str, Counter[str]] = {}
    for digest in digests:
        for header, use in digest.uses.items():
            fields = digest.headers.known[header].fields
            if FIELD in fields and "host" in fields:
                seen.setdefault(fields[FIELD], Counter())[fields["host"]] += use.count
    return {label: counted.most_common(1)[0][0] for label, counted in seen.items()}


def mixed_pids(digests: Sequence[Digest], scopes: Sequence[str]) -> set[tuple[str, str]]:
    """``(scope, pid)`` that stand in the tags of several workers: streams of containers that number their processes alike."""
    tags: dict[tuple[str, str], set[tuple[tuple[str, int], ...]]] = {}
    for digest, scope in zip(digests, scopes, strict=True):
        for header in digest.uses:
            fields = digest.headers.known[header].fields
            place = parallel_of(fields.get("process", ""))
            if "pid" in fields and place and kind_of(fields["process"]) == "worker":
                tags.setdefault((scope, fields["pid"]), set()).add(tuple(sorted((k, v) for k, v in place.items() if k != "ep")))
    return {key for key, found in tags.items() if len(found) > 1 and not any(set(a) < set(b) for a in found for b in found)}
