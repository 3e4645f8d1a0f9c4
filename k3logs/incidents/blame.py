"""Whom consequences point at: ranks that lines do not carry themselves, but that other lines give away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from k3logs.identity.cast import Cast
from k3logs.identity.facts import Fact
from k3logs.incidents.failure import Failure
from k3logs.incidents.runs import Attempts

NEXT = 60.0
"""Seconds within which a process's own error follows what its GPU printed."""


def name_workers(failures: Sequence[Failure], facts: Sequence[Fact], cast: Cast, attempts: Attempts) -> None:
    """A vLLM worker that fails before it has its tag is the one rank of its attempt that has not said its rank."""
    for f in failures:
        if (f.process is not None and f.process.rank is not None) or not any(frame.partition(" > ")[0].endswith(" worker_main") for frame in f.event.frames):
            continue
        said = [x for x in facts if x.kind in ("world_size", "rank_assign") and x.source == f.event.source and x.rank is not None
                and attempts.of(x.source, x.line.number) == f.attempt]
        world = max((x.world or 0 for x in said), default=0)
        missing = set(range(world)) - {x.rank for x in said}
        if len(missing) == 1 and world <= 4096:
            f.victim_rank = missing.pop()
            f.process = f.process or cast.add_rank(f.victim_rank, f.node)
            f.reasons.append("its line has no tag yet; all other ranks have said theirs")


def name_of_task(failures: Sequence[Failure], cast: Cast) -> None:
    """Ray repeats an actor's error in its caller (``ray/exceptions.py``): a consequence where the actor told it, else the actor's."""
    for f in failures:
        if "RayTaskError(" not in f.text or (pid := f.text.partition("(pid=")[2].partition(",")[0].rstrip(")")).isdigit() is False:
            continue
        actor = cast.of_pid(int(pid))
        if actor is None or actor is f.process:
            continue
        if any(o.process is actor and o is not f and o.role not in ("benign", "handled", "request", "teardown") for o in failures):
            f.role = "cascade" if f.role in ("initiating", "first", "symptom", "loud") else f.role
            f.reasons.append(f"Ray repeats the error of {actor.label}")
        else:
            f.process, f.node = actor, actor.node or f.node
            f.reasons.append(f"Ray names {actor.label} as the task that failed")


def name_by_next(candidates: Sequence[Failure]) -> None:
    """A line of a GPU kernel or of native code has no name: it is that of the only rank of its log whose GPU fails right after it."""
    for c in candidates:
        if c.event.chain or c.process is not None or c.victim_rank is not None or not (c.id or "").startswith("CUDA"):
            continue
        after = [o for o in candidates if o is not c and o.event.source == c.event.source and (o.id or "").startswith("CUDA") and o.process is not None
                 and o.process.rank is not None and o.line > c.line and o.low - c.high <= NEXT]  # fmt: skip
        if len({o.process.rank for o in after if o.process is not None}) == 1 and after[0].process is not None:
            c.victim_rank = after[0].process.rank
            c.reasons.append(f"it has no name; rank {c.victim_rank} is the only one of its log whose GPU fails right after it")
            for o in after:
                o.role = "cascade"


def rank_in_text(failure: Failure) -> int | None:
    """A rank that the failure's own words give (``shape mismatch on rank 2``), the least trusted evidence."""
    for text in [link.text for link in failure.event.chain] or [failure.event.text]:
        words = text.replace(":", " ").replace(",", " ").replace("=", " ").lower().split()
        for before, word, number in zip(["", *words], words, words[1:], strict=False):
            if word == "rank" and number.isdigit() and before.rpartition("_")[2] not in _OTHER_RANKS:
                return int(number)
    return None


_OTHER_RANKS = frozenset({"lora", "adapter", "dp", "tp", "pp", "ep", "pcp", "cp", "sp", "local", "node", "group", "matrix", "tensor", "max", "low", "full", "expert", "parallel", "page", "a", "got", "of", "expected"})
"""Words before "rank" that make it another number than the global rank."""


def name_reported(failure: Failure, cast: Cast) -> None:
    """A report of a launcher or of a batch system is about the task and the node that it names, not about who prints it."""
    host, task = failure.fields.get("peer_host"), failure.fields.get("peer_rank", "")
    if not host and (address := failure.fields.get("peer_addr")):
        host = cast.node_of(address)
    if failure.signature is None or failure.signature.category not in ("host", "memory", "external") or not (host or task):
        return
    failure.victim_node = failure.victim_node or (cast.node_of(host) if host else None)
    if task.isdigit() and failure.victim_rank is None:
        failure.victim_rank = int(task)
        failure.reasons.append(f"it names task {task}")


def odd_communicator(facts: Sequence[Fact], cast: Cast) -> tuple[int | None, str | None, str] | None:
    """The process that opened a communicator with another size than all others of the same id: ``(rank, node, why)``."""
    sizes: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.kind == "nccl_init" and fact.step == "START" and fact.comm_id and fact.nranks:
            sizes.setdefault(fact.comm_id, []).append(fact)
    for found in sizes.values():
        counted = Counter(f.nranks for f in found)
        if len(counted) < 2:
            continue
        (common, most), (odd, fewest) = counted.most_common()[0], counted.most_common()[-1]
        if fewest == 1 and most > 1:
            fact = next(f for f in found if f.nranks == odd)
            process = cast.of_header.get((fact.source, fact.header))
            node = cast.header_node.get((fact.source, fact.header)) or cast.source_node.get(fact.source)
            return process.rank if process else None, node, f"it opened the communicator as one of {odd} ranks, the {most} others as {common}"
    return None


def silent_at_address(failures: Sequence[Failure], cast: Cast) -> tuple[int, str, str] | None:
    """The only silent rank on the one node that connection errors point at: ``(rank, node, why)``."""
    told = {f.process.rank for f in failures if f.process and f.role in ("initiating", "symptom", "cascade")}
    nodes: Counter[str] = Counter()
    for f in failures:
        target = cast.node_of_address.get(f.fields.get("peer_addr", "")) or f.fields.get("peer_host", "").partition(".")[0]
        if target and target in cast.nodes:
            nodes[target] += 1
    if len(nodes) != 1:
        return None
    node = next(iter(nodes))
    silent = [p.rank for p in cast.processes if p.node == node and p.rank is not None and p.rank not in told]
    if len(silent) != 1:
        return None
    return silent[0], node, f"connection errors of other ranks point at {node}, where rank {silent[0]} is the only one that told nothing"


def peer_of_all(candidates: Sequence[Failure], cast: Cast) -> tuple[tuple[str, ...], str] | None:
    """Where all candidates say no more than that a peer does not answer: ``(nodes or addresses, why)``; None where one of them is more than a pointer.

    Several where they accuse each other, and nothing but the paths between them is in question.
    """
    peers = [c.fields.get("peer_addr") or c.fields.get("peer_host") for c in candidates if c.role == "symptom"]
    ranks = {c.process.rank for c in candidates if c.process is not None and c.process.rank is not None}
    if len(peers) < len(candidates) or None in peers or len(ranks) < 2:
        return None  # one rank that does not reach its peer may be the one in trouble
    targets = [cast.node_of(peer) for peer in peers if peer]
    if len(set(targets)) == 1:
        return (targets[0],), f"every error is about a peer that does not answer, and all lead to {targets[0]}"
    if any(c.node is None or c.node == target for c, target in zip(candidates, targets, strict=True)):
        return None
    paths = {frozenset((c.node or "", target)) for c, target in zip(candidates, targets, strict=True)}
    if len(paths) == 1:
        one, other = sorted(next(iter(paths)))
        return (one, other), f"{one} and {other} each report that the other does not answer: the link between them, or the fabric, may be the cause as well as either of them"
    common = frozenset.intersection(*paths)
    if len(common) == 1:
        return tuple(common), f"every path that failed has {next(iter(common))} at one end"
    return tuple(sorted(frozenset.union(*paths))), f"{len(paths)} paths between nodes failed, and no node is at one end of all: the fabric may be the cause as well as any of them"


def only_silent(failures: Sequence[Failure], cast: Cast) -> tuple[int, str] | None:
    """The only known rank that told nothing, where all others report a lost peer: ``(rank, why)``."""
    told = {f.process.rank for f in failures if f.process and f.process.rank is not None and f.role in ("initiating", "symptom", "cascade")}
    silent = [r for r in cast.ranks if r not in told]
    if len(silent) == 1 and len(told) >= 2:
        return silent[0], f"all other ranks report a lost peer; rank {silent[0]} reports nothing"
    return None
