"""Every header and every fact that ties a pid, a rank, a node or a tag to another, joined to processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from k3logs.events.digest import Digest
from k3logs.identity import labels, leftovers
from k3logs.identity.cast import Cast
from k3logs.identity.facts import Fact
from k3logs.identity.places import hosts_of_units, is_one_ranks_file, node_of_source, own_name
from k3logs.identity.process import Key, Process, Registry, global_rank, kind_of, parallel_of
from k3logs.identity.sizes import Sizes, sizes
from k3logs.identity.votes import Places, elected, shared_ranks, votes

_AGENTS = frozenset({"glog", "elastic_old"})
"""Dialects that launchers speak: torchelastic's agent logs with its own pid."""


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None



def build(digests: Sequence[Digest], facts: Sequence[Fact]) -> Cast:
    """Join everything that names a process."""
    cast = Cast()
    registry = Registry()
    several = len(digests) > 1
    hosts_of = hosts_of_units(digests)
    hosts = frozenset(name for d in digests for h in d.uses if (name := d.headers.known[h].fields.get("host")))
    names: dict[Key, Counter[str]] = {}
    keys_of: dict[tuple[int, int], list[Key]] = {}
    for number, digest in enumerate(digests):
        cast.source_node[number] = node_of_source(digest, several, hosts)
    _of_the_only_node(cast, digests)
    for fact in facts:
        if fact.address and (node := fact.host or cast.source_node.get(fact.source)):
            cast.node_of_address.setdefault(fact.address, node)
    nranks = Counter(f.nranks for f in facts if f.nranks)
    worlds = Counter(f.world for f in facts if f.world)
    cast.world = worlds.most_common(1)[0][0] if worlds else max(nranks, default=None)
    grid = sizes(digests, facts, cast.world)
    ranked = labels.are_ranks(digests, facts)
    hosts_of_tasks = {} if ranked else labels.hosts(digests)
    mixed = labels.mixed_pids(digests, [node or f"source {n}" for n, node in cast.source_node.items()])
    for number, digest in enumerate(digests):
        for header in digest.uses:
            fields = digest.headers.known[header].fields
            node = _node(fields, cast, number, hosts_of)
            if not ranked and labels.FIELD in fields and not {"ip", "host"} & fields.keys():
                # one task per node: pids of two tasks have nothing to do with each other
                node = hosts_of_tasks.get(fields[labels.FIELD], f"task {fields[labels.FIELD]}")
            cast.header_node[number, header] = node
            keys = _keys(fields, digest, number, node, grid, ranked, mixed)
            if keys:
                keys_of[number, header] = keys
                registry.join(keys)
                if name := fields.get("process"):
                    names.setdefault(keys[0], Counter())[name] += digest.uses[header].count
    places = Places(cast.source_node, cast.header_node)
    counted = votes(places, digests, facts, keys_of, cast.world)
    ranks = {pid: rank for pid, kinds in counted.items() if (rank := elected(kinds, cast.conflicts, pid)) is not None}
    shared = shared_ranks(ranks, digests, keys_of)
    for pid, rank in ranks.items():
        registry.join([pid] if pid in shared else [pid, ("rank", rank)])
    for fact in facts:
        if fact.kind == "exit" and fact.local_rank is not None and fact.rank is not None:
            node = cast.source_node.get(fact.source)
            registry.join([("rank", fact.rank), ("local", node or f"source {fact.source}", fact.local_rank)])
        elif fact.kind == "world_size" and fact.rank is not None and not keys_of.get((fact.source, fact.header)):
            registry.find(("rank", fact.rank))  # a rank that spoke before it had a tag
    _processes(cast, registry, keys_of, names, digests, ranks)
    leftovers.ranks_of_files(cast, digests)
    leftovers.local_ranks_of_files(cast, digests)
    leftovers.only_one_left(cast)
    for fact in facts:
        if fact.speaker and fact.parallel and (process := cast.of_header.get((fact.source, fact.header))):
            process.parallel.update(fact.parallel)
    return cast


def _of_the_only_node(cast: Cast, digests: Sequence[Digest]) -> None:
    """Logs whose lines and names tie them to no node (``vllm.log`` and ``dmesg.log`` of one folder) are of the only node that others name."""
    weak = {n for n, d in enumerate(digests) if own_name(PurePath(d.source.name).name) is None
            and not any({"host", "node", "pod", "service", "ip"} & d.headers.known[h].fields.keys() for h in d.uses)}  # fmt: skip
    strong = {node for number, node in cast.source_node.items() if node is not None and number not in weak}
    if len(strong) == 1 and len({cast.source_node[n] for n in weak}) == 1:
        cast.source_node.update(dict.fromkeys(weak, next(iter(strong))))


def _node(fields: dict[str, str], cast: Cast, source: int, hosts_of: dict[str, str]) -> str | None:
    if ip := fields.get("ip"):
        return cast.node_of_address.get(ip, ip)
    own = cast.source_node.get(source)
    for name in ("node", "host", "pod", "service"):
        if name in fields:
            unit = name in ("pod", "service")
            return own if own is not None and unit else hosts_of.get(fields[name], fields[name]) if unit else fields[name]
    return own


def _keys(fields: dict[str, str], digest: Digest, source: int, node: str | None, grid: Sizes, ranked: bool, mixed: set[tuple[str, str]]) -> list[Key]:
    scope = node or f"source {source}"
    keys: list[Key] = []
    pid, rank, local = _number(fields.get("pid")), _number(fields.get("rank")), _number(fields.get("local_rank"))
    name = fields.get("process")
    if rank is None and ranked and (label := _number(fields.get(labels.FIELD))) is not None:
        rank = label
    if pid is not None:
        # where several containers print into one stream a pid alone is not one process
        keys.append(("pid", scope, pid, name) if name and (scope, fields["pid"]) in mixed and parallel_of(name) else ("pid", scope, pid))
    tag = None
    if rank is None and name and kind_of(name) == "worker":
        tag = global_rank(parallel_of(name), grid.of, grid.sure)
        if tag is None and (short := fields.get("parallel", "")).startswith("TP"):
            tag = _number(short[2:])
        if tag is None and name.startswith("VllmWorker-"):
            tag = _number(name.rpartition("-")[2])
    if tag is not None and pid is not None:
        keys.append(("tag", tag, pid, scope))  # a vote only: other evidence on this pid may know better
    elif (rank := rank if rank is not None else tag) is not None:
        keys.append(("rank", rank))
    elif local is not None:
        keys.append(("local", scope, local))
    if not keys and name:
        keys.append(("name", scope, name))
    if not keys and is_one_ranks_file(digest):
        keys.append(("rank", int(digest.source.hints["rank"])))
    return keys



def _processes(cast: Cast, registry: Registry, keys_of: dict[tuple[int, int], list[Key]], names: dict[Key, Counter[str]], digests: Sequence[Digest],
               pid_ranks: dict[Key, int]) -> None:
    """Make a process of each group of joined keys."""
    tags: dict[Key, Counter[str]] = {}
    for key, counted in names.items():
        tags.setdefault(registry.find(key), Counter()).update(counted)
    made: dict[Key, Process] = {}
    for root, keys in sorted(registry.groups().items(), key=lambda g: str(g[0])):
        process = made[root] = Process(len(cast.processes))
        cast.processes.append(process)
        ranks = sorted({int(str(k[1])) for k in keys if k[0] == "rank"})
        if len(ranks) > 1:
            cast.conflicts.append(f"one process is called rank {' and rank '.join(map(str, ranks))}")
        process.rank = ranks[0] if ranks else None
        if process.rank is None:
            process.rank = next((pid_ranks[k] for k in keys if k in pid_ranks), None)
        for key in keys:
            if key[0] == "pid":
                pid = int(str(key[2]))
                process.pids.add(pid)
                process.node = process.node or (None if str(key[1]).startswith("source ") else str(key[1]))
                cast.by_pid[str(key[1]), pid] = process
            elif key[0] == "local":
                process.parallel["local_rank"] = int(str(key[2]))
        process.pid = min(process.pids) if process.pids else None
        if found := tags.get(root):
            # the tag with most dimensions: a worker is called Worker before its groups exist
            process.name = max(found, key=lambda n: (len(parallel_of(n)), n.count("_"), found[n]))
            process.parallel.update(parallel_of(process.name))
        process.kind = kind_of(process.name)
        if process.kind == "other" and process.rank is not None:
            process.kind = "worker"
        if process.rank is not None:
            cast.by_rank.setdefault(process.rank, process)
    for (source, header), keys in keys_of.items():
        process = made[registry.find(keys[0])]
        process.sources.add(source)
        process.node = process.node or cast.header_node.get((source, header))
        if process.kind == "other" and digests[source].headers.known[header].dialect in _AGENTS:
            process.kind = "launcher"
        cast.of_header[source, header] = process
    for number, digest in enumerate(digests):
        inside = {p.id: p for (s, _), p in cast.of_header.items() if s == number}
        own = sum(digest.uses[h].count for (s, h), p in cast.of_header.items() if s == number)
        if len(inside) == 1 and 2 * own >= digest.lines:  # a launcher's few lines do not make the file its own
            cast.alone[number] = next(iter(inside.values()))
        elif not inside and is_one_ranks_file(digest):
            process = cast.add_rank(int(digest.source.hints["rank"]), cast.source_node.get(number))
            process.sources.add(number)
            cast.alone[number] = process
