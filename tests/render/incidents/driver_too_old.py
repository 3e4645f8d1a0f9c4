"""A cu130 image on hosts of the r575 driver branch: all ranks of both nodes say the same, and nvidia-smi says why."""

from __future__ import annotations

import random

from tests.render import kernel as k
from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import compose
from tests.render.scene import Node, Scene

MODEL, VERSION, MASTER = "moonshotai/Kimi-K3", "0.27.1", "192.168.60.11:25000"
TOO_OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version 12090). Please update your GPU driver by downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your version of the CUDA driver."
FRAMES: list[f.Frame] = [
    *f.INIT_DEVICE[:3],
    ("vllm/v1/worker/gpu_worker.py", 226, "init_device", "current_platform.set_device(self.device)"),
    ("vllm/platforms/cuda.py", 123, "set_device", "torch.cuda.set_device(device)"),
    ("torch/cuda/__init__.py", 567, "set_device", "torch._C._cuda_setDevice(device)"),
    ("torch/cuda/__init__.py", 424, "_lazy_init", "torch._C._cuda_init()"),
]


def scene() -> Scene:
    rng = random.Random(575)
    nodes = [Node("a100-rack2-01", "192.168.60.11", zone=2.0), Node("a100-rack2-02", "192.168.60.12", zone=2.0, skew=-0.2)]
    api, core, launcher = v.Proc(nodes[0], 1, "APIServer"), v.Proc(nodes[0], 96, "EngineCore"), v.Proc(nodes[1], 1, "")
    v.server(
        api,
        1.0,
        VERSION,
        MODEL,
        "KimiK3ForConditionalGeneration",
        32768,
        {
            "model_tag": MODEL,
            "model": MODEL,
            "max_model_len": 32768,
            "tensor_parallel_size": 8,
            "nnodes": 2,
            "moe_backend": "marlin",
            "disable_custom_all_reduce": True,
        },
    )
    v.engine(core, 9.0, VERSION, MODEL, 32768, 8, nodes=2, master="192.168.60.11")
    launcher.info(
        3.0,
        "serve.py:167",
        f"Launching vLLM (v{VERSION}) headless multiproc executor, with head node address {MASTER} for torch.distributed process group.",
    )
    for r in range(8):
        w = v.Proc(nodes[r // 4], 171 + 6 * (r % 4), "Worker")
        f.worker_start(w, 15.0 + rng.random() * 0.03, FRAMES, TOO_OLD, gap=0.0007)
    f.climb_headless(launcher, f.stop_workers(launcher, 15.2, 0, 4) + 0.1)
    f.climb_start(core, api, f.stop_workers(core, 15.2, 0, 4) + 0.1)
    out = Scene(
        what="2 nodes x 4 ranks: CUDA 13 image, driver 575.57.08 (CUDA 12.9), all ranks fail when they touch the device",
        truth={
            "outcome": "failure",
            "needles": ["The NVIDIA driver on your system is too old (found version 12090)"],
            "all_ranks": True,
            "phases_ok": ["device_init"],
            "categories_ok": ["host_driver"],
        },
        versions={"vllm": VERSION, "cuda": "13.0", "driver": "575.57.08", "wrapper": "docker compose logs"},
        how="all workers print at the same moment, so their records interleave line by line; the zone of the containers is +02:00",
    )
    for i, node in enumerate(nodes):
        out.add(f"{node.name}.log", node, compose("kimi-k3-1", 11))
        smi = k.smi(
            f"{node.local(90):%a %b %e %H:%M:%S %Y}", "575.57.08", "12.9", "NVIDIA A100-SXM4-80GB", ["07", "0F", "47", "4E"], total=81920
        )
        out.add_text(f"{node.name}.nvidia-smi.txt", smi if i == 0 else smi.replace("31C", "34C"))
    return out
