"""Rank 11 of 16 never reaches an all-reduce; every other watchdog speaks ten minutes later, rank 11 says nothing of its own.

Node 1 is 12.4 s behind. The launcher tees with local ranks, the collector is `kubectl logs --prefix --timestamps`.
"""

from __future__ import annotations

import random

from tests.render import c10
from tests.render.envelopes import kubectl
from tests.render.scene import Node, Scene

CULPRIT, SEQ, TIMEOUT = 11, 48217, 600000


def scene() -> Scene:
    rng = random.Random(11)
    nodes = [Node("k3-sft-worker-0", "10.9.4.11", phase=0.83), Node("k3-sft-worker-1", "10.9.4.12", skew=-12.4, phase=0.37)]
    ranks = [c10.Rank(nodes[r // 8], r, r % 8, 412 + 3 * (r % 8), f"[default{r % 8}]:") for r in range(16)]
    progress(ranks, rng)
    hang(ranks, nodes, rng)
    out = Scene(
        what="16 ranks, 2 nodes: rank 11 stops before all-reduce 48217, the others time out after 600 s",
        truth={
            "outcome": "failure",
            "needles": [],
            "rank": CULPRIT,
            "node": nodes[1].name,
            "phases_ok": ["serving"],
            "categories_ok": ["communication", "application", "unknown"],
        },
        versions={"torch": "2.7.1", "launcher": "torchrun --tee 3", "wrapper": "kubectl logs --prefix --timestamps"},
        how="watchdog, dump signal and agent wording of torch 2.6 to 2.8; c10 stamps with the fraction of the monotonic clock",
        clocks={nodes[0].name: 0.0, nodes[1].name: -12.4},
    )
    for node in nodes:
        out.add(f"{node.name}.log", node, kubectl(node.name, "trainer", stamps=True))
    return out


def progress(ranks: list[c10.Rank], rng: random.Random) -> None:
    """Rendezvous, then iterations that end together on all ranks: the anchors of the clocks."""
    for i, node in enumerate({r.node.name: r.node for r in ranks}.values()):
        c10.agent(
            node,
            2.0 + rng.random() * 0.01,
            77,
            "I",
            "agent/server/api.py:525",
            f"[default] Rendezvous complete for workers. Result:\n  restart_count=0\n  master_addr={ranks[0].node.name}\n  master_port=29400\n  group_rank={i}\n  group_world_size=2\n  local_ranks=[0, 1, 2, 3, 4, 5, 6, 7]\n  role_ranks={list(range(8 * i, 8 * i + 8))}\n  global_ranks={list(range(8 * i, 8 * i + 8))}",
        )
    for step in range(4, 8):
        for r in ranks:
            at = 60.0 + 2.1 * step + rng.random() * 0.004
            r.print(
                at,
                f"{r.node.local(at):%Y-%m-%d %H:%M:%S,%f}"[:-3]
                + f" [rank{r.rank}] INFO train: iteration={step} loss={2.91 - step * 0.013:.4f} grad_norm=0.71",
            )
    slow = ranks[CULPRIT]
    slow.print(
        75.4,
        f"{slow.node.local(75.4):%Y-%m-%d %H:%M:%S,%f}"[:-3] + " [rank11] INFO data: opening shard fineweb-00417.tar from /mnt/nfs/corpus",
    )


def hang(ranks: list[c10.Rank], nodes: list[Node], rng: random.Random) -> None:
    """The time-outs of 15 ranks, the dump signal of the one that is behind, the end of both agents."""
    enqueued = 77.02
    victims = [r for r in ranks if r.rank != CULPRIT]
    first = 0.0
    for n, r in enumerate(rng.sample(victims, len(victims))):
        ran = TIMEOUT + rng.randrange(11, 98)
        at = enqueued + rng.random() * 0.03 + ran / 1000
        first = at if n == 0 else min(first, at)
        c10.watchdog(r, at, SEQ, "ALLREDUCE", 67108864, TIMEOUT, ran, SEQ, SEQ - 1)
    c10.dump_signal(ranks[CULPRIT], first + 1.02, 6, SEQ - 1, SEQ - 1)
    codes = []
    for node in reversed(nodes):
        at = first + 3.1 + rng.random()
        mine = [r for r in ranks if r.node is node]
        dead = [r for r in mine if r.rank != CULPRIT]
        for r in (x for x in mine if x.rank == CULPRIT):
            c10.agent(node, at, 77, "W", "multiprocessing/api.py:900", f"Sending process {r.pid} closing signal SIGTERM")
        c10.agent(
            node,
            at + 1.3,
            77,
            "E",
            "multiprocessing/api.py:874",
            f"failed (exitcode: -6) local_rank: {dead[0].local} (pid: {dead[0].pid}) of binary: /usr/bin/python3",
        )
        codes = [(r, -6, "SIGABRT") for r in reversed(dead)]
        c10.summary(node, at + 1.4, 77, "sft.py", codes)
