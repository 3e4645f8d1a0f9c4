"""The container of node 1 never starts: the runtime's hook refuses. Node 0 can only say that eight clients are missing."""

from __future__ import annotations

import random

from tests.render import kernel as k
from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import docker, plain
from tests.render.scene import Node, Scene

MODEL, VERSION, MASTER = "moonshotai/Kimi-K3", "0.27.1", "10.3.0.5:29600"
REFUSAL = """docker: Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'
nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver to a newer version, or use an earlier cuda container: unknown.

Run 'docker run --help' for more information"""
MISSING = "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined."


def scene() -> Scene:
    rng = random.Random(130)
    head, tail = Node("l40s-a", "10.3.0.5"), Node("rtx-b", "10.3.0.6")
    api, core = v.Proc(head, 1, "APIServer"), v.Proc(head, 150, "EngineCore")
    v.server(
        api,
        4.0,
        VERSION,
        MODEL,
        "KimiK3ForConditionalGeneration",
        32768,
        {"model_tag": MODEL, "model": MODEL, "max_model_len": 32768, "tensor_parallel_size": 8, "pipeline_parallel_size": 2, "nnodes": 2},
    )
    v.engine(core, 13.0, VERSION, MODEL, 32768, 8, 2, 2, "10.3.0.5")
    for r in range(8):
        w = v.Proc(head, 240 + 7 * r, "Worker")
        v.join(w, 20.0 + rng.random(), r, 16, r, MASTER)
        if r == 0:
            frames = [
                *f.INIT_DEVICE[:4],
                ("vllm/distributed/parallel_state.py", 1423, "init_distributed_environment", "torch.distributed.init_process_group("),
                ("torch/distributed/rendezvous.py", 189, "_create_c10d_store", "return TCPStore("),
            ]
            f.worker_start(w, 621.6, frames, MISSING)
    f.climb_start(core, api, f.stop_workers(core, 621.7, 7, 8))
    tail.say(
        2.0,
        "$ docker run -d --name kimi-k3 --gpus all --ipc=host --network host vllm/vllm-openai:kimi-k3 moonshotai/Kimi-K3 --tensor-parallel-size 8 --pipeline-parallel-size 2 --nnodes 2 --node-rank 1 --master-addr 10.3.0.5 --headless",
    )
    tail.say(3.6, "9d0f6a8b1c7e4f21b3a5d6c8e0f1920384756abcdef01234567890fedcba9876")
    tail.say(3.9, REFUSAL, "stderr")
    out = Scene(
        what="2 nodes, TP8 x PP2: nvidia-container-cli refuses cuda>=13.0 on node 1, node 0 waits 600 s for eight clients",
        truth={
            "outcome": "failure",
            "needles": ["requirement error: unsatisfied condition: cuda>=13.0"],
            "node": tail.name,
            "phases_ok": ["container"],
            "categories_ok": ["host_driver", "container_runtime", "image"],
        },
        versions={"vllm": VERSION, "cuda": "13.0", "driver": "570.133.20", "wrapper": "docker logs --timestamps; a terminal"},
        how="what a shell on node 1 shows instead of a log; nvidia-smi of that node beside it",
    )
    out.add(f"{head.name}.log", head, docker)
    out.add(f"{tail.name}.log", tail, plain)
    out.add_text(
        f"{tail.name}.nvidia-smi.txt",
        k.smi(
            "Wed Aug  5 09:41:12 2026",
            "570.133.20",
            "12.8",
            "NVIDIA GeForce RTX 5090",
            ["01", "24", "41", "61", "81", "A1", "C1", "E1"],
            total=32607,
        ),
    )
    return out
