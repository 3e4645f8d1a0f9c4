"""One NIC of one node refuses a DMA-BUF registration; 15 other ranks only notice that somebody is gone.

Node 1 is 37 s ahead, so by raw stamps every victim on node 0 failed long before the cause.
"""

from __future__ import annotations

import random

from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import docker
from tests.render.nccl import Comm, Member, buses
from tests.render.scene import Node, Scene

MODEL, VERSION, MASTER = "moonshotai/Kimi-K3", "0.27.1", "10.41.7.20:29547"
CULPRIT, NEIGHBOURS = 11, (3, 4)
HCAS = "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_6 mlx5_7 mlx5_8 mlx5_9"
SYSTEM = "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"
REMOTE = "RuntimeError: NCCL error: remote process exited or there was a network error"


def scene() -> Scene:
    rng = random.Random(524)
    head = Node("b300-r7-n20", "10.41.7.20", skew=0.0, phase=0.61)
    tail = Node("b300-r7-n21", "10.41.7.21", skew=37.0, phase=0.08)
    comm = Comm("2.28.9", "13000", 16, 2, "0x8b1f2ce95d37a604", ifname="bond0")
    workers = [v.Proc((head, tail)[r // 8], 301 + 7 * (r % 8), "Worker") for r in range(16)]
    ranks = [
        Member(comm, w.node, w.pid, r, r % 8, buses("04 23 43 5b 84 a2 c1 d9")[r % 8], f"0x55{rng.randrange(16**10):010x}", HCAS)
        for r, w in enumerate(workers)
    ]
    api, core, launcher = v.Proc(head, 1, "APIServer"), v.Proc(head, 187, "EngineCore"), v.Proc(tail, 1, "")
    start(api, core, launcher)
    for r, (w, m) in enumerate(zip(workers, ranks, strict=True)):
        at = 24.0 + rng.random() * 1.4
        v.join(w, at, r, 16, r % 8, MASTER)
        if r == 0:
            w.info(at + 2.0, "pynccl.py:111", "vLLM is using nccl==2.28.9")
        m.open(27.0 + rng.random() * 0.6, data_direct=True)
        m.boot(27.9 + rng.random() * 0.05, 0.6 + rng.random() * 0.3)
        m.channels(28.6 + rng.random() * 0.2)
    fail(workers, ranks, core, api, launcher)
    out = Scene(
        what="2 nodes x 8 ranks, TP16 with expert parallelism: mlx5dv_reg_dmabuf_mr answers 524 on rank 11 during transport set-up",
        truth={
            "outcome": "failure",
            "needles": ["Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524"],
            "rank": CULPRIT,
            "node": tail.name,
            "phases_ok": ["distributed_init"],
            "categories_ok": ["network", "interconnect", "host_driver", "host"],
        },
        clocks={head.name: 0.0, tail.name: 37.0},
        versions={"vllm": VERSION, "nccl": comm.version, "cuda": "13.0", "wrapper": "docker logs --timestamps"},
        how="NCCL and vLLM formats and order of lines as their sources print them; delays of the cascade as measured in runs of real NCCL host code and vLLM on CPU",
    )
    out.add(f"{head.name}.log", head, docker)
    out.add(f"{tail.name}.log", tail, docker)
    return out


def start(api: v.Proc, core: v.Proc, launcher: v.Proc) -> None:
    args: dict[str, object] = {
        "model_tag": MODEL,
        "model": MODEL,
        "trust_remote_code": True,
        "max_model_len": 1048576,
        "load_format": "fastsafetensors",
        "tensor_parallel_size": 16,
        "enable_expert_parallel": True,
        "all2all_backend": "deepep_v2",
        "nnodes": 2,
        "gpu_memory_utilization": 0.95,
        "kv_cache_dtype": "fp8",
    }
    v.server(api, 1.0, VERSION, MODEL, "KimiK3ForConditionalGeneration", 1048576, args)
    api.info(
        3.1,
        "config.py:402",
        "Mamba cache mode is set to 'align' for KimiK3ForConditionalGeneration by default when prefix caching is enabled",
    )
    v.engine(core, 14.0, VERSION, MODEL, 1048576, 16, nodes=2, master="10.41.7.20")
    launcher.info(4.0, "model.py:561", "Resolved architecture: KimiK3ForConditionalGeneration")
    launcher.info(
        4.2,
        "serve.py:167",
        f"Launching vLLM (v{VERSION}) headless multiproc executor, with head node address {MASTER} for torch.distributed process group.",
    )


def fail(workers: list[v.Proc], ranks: list[Member], core: v.Proc, api: v.Proc, launcher: v.Proc) -> None:
    """The cause at 29.41 s of true time, its witnesses, then the clean-up on both nodes."""
    t, bad, port = 29.41, ranks[CULPRIT], 41873
    bad.warn(t, "misc/mlx5dvwrap.cc:72", "NET/MLX5: Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524", bad.service)
    bad.chain(t, ["transport/net_ib/reg.cc:131", "transport/net_ib/reg.cc:187", "transport/net.cc:1044"], 2, bad.service)
    bad.chain(
        t + 0.001,
        [
            "transport/net.cc:472",
            "transport.cc:219",
            "transport/generic.cc:19",
            "init.cc:1204",
            "init.cc:1501",
            "init.cc:1889",
            "init.cc:1921",
        ],
        2,
    )
    f.worker_start(workers[CULPRIT], t + 0.012, f.INIT_DEVICE + f.PYNCCL, SYSTEM)
    bad.warn(
        t + 0.03,
        "proxy.cc:1687",
        "[Service thread] Error encountered progressing operation=Connect, res=3, closing connection",
        bad.service,
    )
    for n, r in enumerate(NEIGHBOURS):
        m, at = ranks[r], t + 0.21 + 0.06 * n
        m.warn(at, "misc/socket.cc:947", f"socketProgress: Connection closed by remote peer b300-r7-n21.fabric.lan<{port + n}>", m.service)
        m.chain(at, ["misc/socket.cc:76", "transport/net_ib/connect.cc:812"], 6, m.service)
        m.chain(
            at + 0.001,
            ["transport/net.cc:491", "transport.cc:220", "transport/generic.cc:19", "init.cc:1204", "init.cc:1501", "init.cc:1921"],
            6,
        )
        f.worker_start(workers[r], at + 0.02, f.INIT_DEVICE + f.PYNCCL, REMOTE)
    for r in (2, 5, 7, 10, 12, 14):
        ranks[r].retry(t + 0.12 + 0.01 * r, f"10.41.7.21<{port + 11}>", 1, 9 if r < 8 else 7)
    over = f.stop_workers(launcher, t + 0.08, 7, 8)
    f.climb_headless(launcher, over + 0.05)
    over = f.stop_workers(core, t + 0.3, 6, 8)
    f.climb_start(core, api, over + 0.1)
