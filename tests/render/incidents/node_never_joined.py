"""Four nodes with one GPU each; the fourth never comes and has no log. Rank 0 counts, ranks 1 and 2 lose the store."""

from __future__ import annotations

import random

from tests.render import c10
from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import cri
from tests.render.scene import Node, Scene

MODEL, VERSION, MASTER = "moonshotai/Kimi-Linear-48B-A3B-Instruct", "0.20.2", "192.168.177.11:29501"
MISSING = "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined."
LOST = "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"
FRAMES: list[f.Frame] = [
    *f.INIT_DEVICE[:4],
    ("vllm/distributed/parallel_state.py", 1423, "init_distributed_environment", "torch.distributed.init_process_group("),
    ("torch/distributed/rendezvous.py", 189, "_create_c10d_store", "return TCPStore("),
]


def scene() -> Scene:
    rng = random.Random(34)
    nodes = [Node(f"spark-{i + 1}", f"192.168.177.{11 + i}", skew=(0.0, 3.1, -1.4)[i], phase=0.2 * i) for i in range(3)]
    api, core = v.Proc(nodes[0], 1, "APIServer", 20), v.Proc(nodes[0], 83, "EngineCore", 20)
    v.server(
        api,
        1.0,
        VERSION,
        MODEL,
        "KimiLinearForCausalLM",
        65536,
        {"model_tag": MODEL, "model": MODEL, "max_model_len": 65536, "tensor_parallel_size": 4, "nnodes": 4},
    )
    v.engine(core, 12.0, VERSION, MODEL, 65536, 4, nodes=4, master="192.168.177.11")
    for r, node in enumerate(nodes):
        w = v.Proc(node, 141, "Worker", 20)
        v.join(w, 19.0 + rng.random() * 6, r, 4, 0, MASTER)
        if r == 0:
            f.worker_start(w, 621.3, FRAMES, MISSING)
            f.climb_start(core, api, f.stop_workers(core, 621.4, 0, 1))
            continue
        launcher, at = v.Proc(node, 1, "", 20), 621.5 + 0.1 * r
        launcher.info(
            6.0,
            "serve.py:151",
            f"Launching vLLM (v{VERSION}) headless multiproc executor, with head node address {MASTER} for torch.distributed process group.",
        )
        c10.Rank(node, r, 0, 141).glog(
            at,
            "W",
            "TCPStore.cpp:125",
            f"[c10d] recvValue failed on SocketImpl(fd=41, addr=[::ffff:{node.address}]:{52110 + r}, remote=[::ffff:192.168.177.11]:29501): Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?",
            ranked=False,
        )
        f.worker_start(w, at + 0.04, FRAMES, LOST)
        f.climb_headless(launcher, f.stop_workers(launcher, at + 0.1, 0, 1))
    out = Scene(
        what="4 nodes x 1 GPU, TP4: node 3 never starts, the store's host gives up after 600 s with 3/4 clients",
        truth={
            "outcome": ["failure", "inconclusive"],
            "needles": ["Timed out after 601 seconds waiting for clients. 3/4 clients joined."],
            "phases_ok": ["distributed_init"],
            "categories_ok": ["network", "communication", "configuration"],
        },
        versions={"vllm": VERSION, "wrapper": "CRI files"},
        how="the missing rank is 3, by elimination; its node left no log at all",
        clocks={n.name: n.skew for n in nodes},
    )
    for node in nodes:
        out.add(f"{node.name}.log", node, cri)
    return out
