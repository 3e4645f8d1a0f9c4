"""Only consequences are in the logs: the first of them is the best witness; whom all of them point at may be the culprit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from k3logs.clocks.when import Times
from k3logs.identity.cast import Cast
from k3logs.incidents import crash
from k3logs.incidents.blame import only_silent
from k3logs.incidents.crash import Choice, rank_of
from k3logs.incidents.failure import Failure

MISSING = ["the logs of the process that failed first: all ranks, all nodes, and earlier containers (--previous)",
           "dmesg -T of the nodes around that time (OOM killer, Xid)"]


def choose(cascades: Sequence[Failure], loud: Sequence[Failure], failures: Sequence[Failure], times: Times, cast: Cast) -> Choice:
    """The witness to show, and whom the consequences point at, if anyone.

    A rank is only blamed if it is the only one that told nothing, or the only one that told anything while the logs of all
    ranks are here and name no peer: else who says that it lost a peer is not the culprit.
    """
    quoting = [f for f in cascades if f.signature is not None and f.signature.quotes]
    if any(f.process is not None and f.process.kind == "worker" for f in cascades):
        quoting = []  # a worker's own words are better than the engine's quotation
    pool = [f for f in loud if f.low <= min(c.low for c in cascades)] or quoting or list(cascades)
    choice = crash.choose(pool, times, cast.world)
    choice.rule, choice.kind = "cascade.only", "crash"
    choice.penalties.append("only consequences are in the logs given")
    choice.why = ["the first failure left no line in these logs; this is the first consequence"]
    root = choice.root
    if root is None:
        return choice
    root.observed = False
    if (silent := only_silent(failures, cast)) is not None:
        choice.rule, root.victim_rank = "cascade.odd_one_out", silent[0]
        choice.why.append(silent[1])
        return choice
    told = {r for f in [*cascades, *loud] if (r := rank_of(f)) is not None}
    peers = Counter(peer for f in cascades if (peer := f.fields.get("peer_addr") or f.fields.get("peer_host")))
    nodes = {cast.node_of(peer) for peer in peers}
    # addresses that nothing ties to a node may be another name of one that is named
    nodes = {node for node in nodes if node in cast.nodes} or nodes
    if len(nodes) == 1:
        root.victim_node, choice.blames, choice.ranks = nodes.pop(), False, []
        choice.why.append(f"the lost connections lead to {root.victim_node}" + ("" if root.victim_node in cast.nodes else ", whose log is not here"))
    elif len(told) != 1 or "remote peer" in root.text or not cast.complete:
        choice.blames, choice.ranks = False, []
        if told:
            choice.why.append(f"{len(told)} {'ranks report' if len(told) > 1 else 'rank reports'} a lost peer, and nothing says which was lost")
    return choice
