"""Whom lost connections point at: one node, a node at one end of all paths, or only the path between two."""

from __future__ import annotations

import reading
from test_decide import root_of

INIT = "{host}:{pid}:{pid} [{dev}] NCCL INFO ncclCommInitRank comm 0x55d{rank} rank {rank} nranks {world} cudaDev {dev} nvmlDev {dev} busId {dev}b000 commId 0x1ce7 - Init START\n"
OOB = "{host}:{pid}:{pid} [{dev}] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.{number}<0>\n"
LOST = ("{host}:{pid}:9{pid} [{dev}] net_ib.cc:1200 NCCL WARN NET/IB: Got completion from peer 10.0.0.{peer}<43211> with status=12 opcode=0 len=0 vendor err 129 (Recv) "
        "localGid fe80::1 remoteGids fe80::2 hca mlx5_{dev}\n")  # fmt: skip


def logs(nodes: int, accusations: dict[int, int]) -> dict[str, str]:
    """Two ranks a node; ``{rank: node that does not answer it}``."""
    texts = {}
    for number in range(1, nodes + 1):
        lines = []
        for dev in (0, 1):
            rank = 2 * (number - 1) + dev
            values = {"host": f"gx{number}", "pid": 300 + rank, "dev": dev, "rank": rank, "world": 2 * nodes, "number": number, "peer": accusations.get(rank)}
            lines += [INIT.format(**values), OOB.format(**values)] + ([LOST.format(**values)] if rank in accusations else [])
        texts[f"gx{number}.log"] = "".join(lines)
    return texts


def test_all_lead_to_one_node() -> None:
    root = root_of(reading.verdict(logs(3, {0: 3, 1: 3, 2: 3})))
    assert (root.rank, root.node, root.rule) == (None, "gx3", "pointer.peer")


def test_two_nodes_that_accuse_each_other_share_a_path() -> None:
    answer = reading.verdict(logs(2, {1: 2, 3: 1}))
    root = root_of(answer)
    assert (root.rank, root.ranks, root.node, root.rule) == (None, [], None, "pointer.path")
    assert "path between gx1 and gx2" in answer.sentence
    assert root.confidence < 0.6


def test_the_node_at_one_end_of_every_failed_path_is_meant() -> None:
    root = root_of(reading.verdict(logs(3, {0: 2, 2: 1, 4: 2, 3: 3})))
    assert (root.rank, root.node, root.rule) == (None, "gx2", "pointer.peer")


def test_paths_without_a_common_end_blame_no_node() -> None:
    root = root_of(reading.verdict(logs(4, {0: 2, 2: 1, 4: 4, 6: 3})))
    assert (root.rank, root.node, root.rule) == (None, None, "pointer.path")
