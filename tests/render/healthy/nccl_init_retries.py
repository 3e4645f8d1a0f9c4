"""nccl-tests on two nodes: missing plugins, missing symbols, refused connections that succeed at the fourth try."""

from __future__ import annotations

import random

from tests.render.envelopes import plain
from tests.render.nccl import Comm, Member, buses
from tests.render.scene import Node, Scene

QUIRKS = [
    "Failed to open libibverbs.so[.1]",
    "dlvsym failed on mlx5dv_get_data_direct_sysfs_path - /lib/x86_64-linux-gnu/libmlx5.so.1: undefined symbol: mlx5dv_get_data_direct_sysfs_path, version MLX5_1.25 version MLX5_1.25",
    "dlvsym failed on mlx5dv_reg_dmabuf_mr - /lib/x86_64-linux-gnu/libmlx5.so.1: undefined symbol: mlx5dv_reg_dmabuf_mr, version MLX5_1.25 version MLX5_1.25",
    "NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.",
    "NET/Plugin: Failed to find ncclCollNetPlugin_v10 symbol.",
    "PROFILER/Plugin: Could not find: libnccl-profiler.so. ",
    "Could not find real path of /sys/class/pci_bus/0000:9d/../../0000:9d:00.0",
    "Topology detection : could not read /sys/devices/system/node/node-1/cpumap, ignoring",
    "KV Convert to int : could not find value of '' in dictionary, falling back to 60",
    "NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)",
    "cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based transport.",
]


def scene() -> Scene:
    rng = random.Random(34)
    nodes = [Node("fab-n0", "10.55.0.1"), Node("fab-n1", "10.55.0.2", skew=0.9)]
    comm = Comm("2.27.7", "12090", 8, 2, "0x524a0deadbeef524")
    for r in range(8):
        m = Member(comm, nodes[r // 4], 88120 + r, r, r % 4, buses()[r % 4], f"0x{rng.randrange(16**11):011x}", "mlx5_0 mlx5_3", every=True)
        m.open(3.0 + rng.random() * 0.3)
        for n, quirk in enumerate(QUIRKS):
            m.info(3.4 + 0.001 * n, quirk)
        m.boot(4.1 + rng.random() * 0.04, 0.62)
        later = m.retry(4.6, f"{nodes[1 - r // 4].address}<{50000 + r * 17}>", 1, 3) if r in (2, 5) else 4.6
        m.channels(5.6)
        m.info(later + 0.4, "Check P2P Type isAllDirectP2p 0 directMode 0")
        m.done(6.4 + rng.random() * 0.03, 3.1)
    table(nodes[0])
    out = Scene(
        what="all_reduce_perf on 2 nodes x 4 GPUs that works",
        truth={"outcome": "no_failure"},
        versions={"nccl": comm.version, "wrapper": "plain"},
        how="NCCL_DEBUG=INFO with stamps on all levels; every frightening line is at INFO and nothing follows from it",
    )
    for node in nodes:
        out.add(f"{node.name}.log", node, plain)
    return out


def table(node: Node) -> None:
    node.say(
        2.0,
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
    )
    node.say(7.0, "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong")
    for n in range(3, 34, 3):
        size = 2**n
        us = 18.0 + size / 210e3
        node.say(
            7.2 + n * 0.05,
            f"{size:12d} {size // 4:13d}     float     sum      -1 {us:8.2f} {size / us / 1e3:7.2f} {size / us / 1e3 * 1.75:7.2f}      0 {us * 1.01:8.2f} {size / us / 1e3:7.2f} {size / us / 1e3 * 1.75:7.2f}      0",
        )
    node.say(9.0, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 118.702 \n#")
