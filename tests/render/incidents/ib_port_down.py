"""A cable drops on node 1. NCCL 2.26 drops the failed request without an error, so torch only sees a time-out later."""

from __future__ import annotations

import random

from tests.render import c10
from tests.render.envelopes import cri
from tests.render.nccl import Comm, Member, buses
from tests.render.scene import Node, Scene

DOWN, SEQ, TIMEOUT = 431.6, 9127, 600000
HCA = "mlx5_5"


def scene() -> Scene:
    rng = random.Random(12)
    nodes = [Node("llm-pretrain-0", "10.64.2.8", phase=0.12), Node("llm-pretrain-1", "10.64.2.9", skew=0.6, phase=0.95)]
    comm = Comm("2.26.5", "12080", 16, 2, "0xd90c43b2117fe85a", call="ncclCommInitRankConfig")
    ranks = [c10.Rank(nodes[r // 8], r, r % 8, 530 + 2 * (r % 8)) for r in range(16)]
    members = [
        Member(
            comm,
            q.node,
            q.pid,
            q.rank,
            q.local,
            buses("18 2a 3a 5d 9a ab ba db")[q.local],
            f"0x{rng.randrange(16**11):011x}",
            "mlx5_0 mlx5_1 mlx5_4 mlx5_5",
        )
        for q in ranks
    ]
    for m in members:
        m.open(9.0 + rng.random() * 0.5)
        m.boot(9.9 + rng.random() * 0.05, 0.74)
        m.channels(10.6 + rng.random() * 0.1, 1)
        m.done(11.6 + rng.random() * 0.05, 2.3)
    for step in range(120, 124):
        for q in (ranks[0], ranks[8]):
            at = 400.0 + 8.0 * (step - 120) + rng.random() * 0.003
            q.print(
                at,
                f" [{q.node.local(at):%Y-%m-%d %H:%M:%S}] iteration {step:8d}/ 5000 | elapsed time per iteration (ms): 8004.1 | lm loss: 2.4{step}E+00 | grad norm: 0.318 |",
            )
    fail(members, ranks, nodes, rng)
    out = Scene(
        what="16 ranks, 2 nodes: port error on mlx5_5 of node 1, completions with status 12 thirty seconds later, watchdogs after 600 s with nobody missing",
        truth={
            "outcome": "failure",
            "needles": ["Got async error event: port error"],
            "ranks_ok": [*range(8, 16)],
            "node": nodes[1].name,
            "phases_ok": ["serving"],
            "categories_ok": ["network", "interconnect"],
        },
        versions={"torch": "2.8.0", "nccl": comm.version, "wrapper": "CRI files below pods/"},
        how="every process of a node opens every HCA and prints the async event; only the ranks that use it see bad completions",
        clocks={nodes[0].name: 0.0, nodes[1].name: 0.6},
    )
    for i, node in enumerate(nodes):
        out.add(f"pods/ml_{node.name}_8f1{i}c0de-41aa-4a7e-9b60-0c2f5d7e1b3{i}/trainer/0.log", node, cri)
    return out


def fail(members: list[Member], ranks: list[c10.Rank], nodes: list[Node], rng: random.Random) -> None:
    for m in members[8:]:
        m.warn(DOWN + rng.random() * 0.01, "transport/net_ib.cc:213", f"NET/IB : {HCA}:1 Got async error event: port error", m.pid + 33)
    for here, there in ((7, 15), (15, 7), (6, 14)):
        m, other = members[here], members[there]
        at = DOWN + 30.1 + rng.random()
        m.warn(
            at,
            "transport/net_ib.cc:2321",
            f"NET/IB: Got completion from peer {other.node.address}<{41000 + there}> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::{m.rank:x}ff:fe12 remoteGidsfe80::{other.rank:x}ff:fe34 hca {HCA}",
            m.pid + 77,
        )
        m.chain(at, ["transport/net.cc:1301"], 6, m.pid + 77)
    enqueued = DOWN + 0.4
    for q in rng.sample(ranks, len(ranks)):
        ran = TIMEOUT + rng.randrange(8, 91)
        c10.watchdog(
            q,
            enqueued + rng.random() * 0.02 + ran / 1000,
            SEQ,
            "_REDUCE_SCATTER_BASE",
            33554432,
            TIMEOUT,
            ran,
            SEQ,
            SEQ - 1,
        )
    for node in nodes:
        at = enqueued + 603.0 + rng.random()
        mine = [q for q in ranks if q.node is node]
        c10.agent(
            node,
            at,
            41,
            "E",
            "multiprocessing/api.py:874",
            f"failed (exitcode: -6) local_rank: {mine[2].local} (pid: {mine[2].pid}) of binary: /usr/bin/python3",
        )
        c10.summary(node, at + 0.1, 41, "pretrain_gpt.py", [(q, -6, "SIGABRT") for q in mine if q.local != 2] + [(mine[2], -6, "SIGABRT")])
