"""What is left to learn once all lines have spoken: the ranks of files, and of the only process that has none."""

from __future__ import annotations

from collections.abc import Sequence

from k3logs.events.digest import Digest
from k3logs.identity.cast import Cast
from k3logs.identity.process import Process


def only_one_left(cast: Cast) -> None:
    """A worker without a rank is the one rank that is missing, where one is missing and one worker has none."""
    missing = cast.missing()
    nameless = [p for p in cast.processes if p.kind == "worker" and p.rank is None and p.pid is not None and p.sources]
    if len(missing) == 1 and len(nameless) == 1:
        nameless[0].rank = missing[0]
        cast.by_rank[missing[0]] = nameless[0]


def ranks_of_files(cast: Cast, digests: Sequence[Digest]) -> None:
    """A file named after a rank that holds one process without a rank: it is that rank."""
    for number, digest in enumerate(digests):
        hint = digest.source.hints.get("rank")
        here = {p.id: p for (s, _), p in cast.of_header.items() if s == number and p.kind != "launcher"}
        ranks = {p.rank for p in here.values() if p.rank is not None}
        nameless = [p for p in here.values() if p.rank is None and p.pid is not None]
        ranked = [p for p in here.values() if p.rank is not None]
        if len(ranks) == 1 and len(nameless) == 1 and len(ranked) == 1 and ranked[0].pid is None:
            # one process that prints with its rank here, with its pid there
            _merge(cast, ranked[0], nameless[0])
            continue
        inside = {p.id: p for (s, _), p in cast.of_header.items() if s == number and p.kind != "launcher"}
        if hint is None or len(inside) != 1:
            continue
        process, rank = next(iter(inside.values())), int(hint)
        if process.rank is None and rank not in cast.by_rank and process.kind in ("worker", "other"):
            process.rank = rank
            process.kind = "worker" if process.kind == "other" else process.kind
            cast.by_rank[rank] = process


def local_ranks_of_files(cast: Cast, digests: Sequence[Digest]) -> None:
    """Files in torchrun's ``attempt_0/3/`` of one node, whose lines say nothing of their rank: it is the local rank."""
    if len(set(cast.source_node.values()) - {None}) > 1:
        return
    for number, digest in enumerate(digests):
        inside = {p.id for (s, _), p in cast.of_header.items() if s == number}
        if (local := digest.source.hints.get("local_rank")) is not None and not inside and number not in cast.alone and (cast.world or 0) <= _local_world(digests):
            process = cast.add_rank(int(local), cast.source_node.get(number))
            process.sources.add(number)
            cast.alone[number] = process


def _local_world(digests: Sequence[Digest]) -> int:
    """How many local ranks the names of files speak of."""
    return len({hint for d in digests if (hint := d.source.hints.get("local_rank")) is not None})


def _merge(cast: Cast, kept: Process, gone: Process) -> None:
    """Two entries turn out to be one process."""
    kept.pids |= gone.pids
    kept.pid = kept.pid if kept.pid is not None else gone.pid
    kept.name, kept.node = kept.name or gone.name, kept.node or gone.node
    kept.parallel = {**gone.parallel, **kept.parallel}
    kept.sources |= gone.sources
    for table in (cast.of_header, cast.by_pid, cast.alone):
        for key, process in table.items():
            if process is gone:
                table[key] = kept  # type: ignore[index]
    cast.processes.remove(gone)
