"""A number of redundant experts that no rank can divide: eight times the same error, line by line in between each other."""

from __future__ import annotations

import random

from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import plain
from tests.render.scene import Node, Scene

MODEL, VERSION = "moonshotai/Kimi-K3", "0.32.0"
ERROR = "ValueError: n_physical_experts=900 must be divisible by ep_size=8"
FRAMES: list[f.Frame] = [
    *f.LOAD_MODEL,
    ("vllm/model_executor/model_loader/base_loader.py", 74, "load_model", "model = initialize_model("),
    ("vllm/model_executor/models/kimi_k3.py", 611, "__init__", "self.language_model = init_vllm_registered_model("),
    ("vllm/model_executor/layers/fused_moe/layer.py", 702, "__init__", "self.local_num_experts = determine_expert_count("),
]


def scene() -> Scene:
    rng = random.Random(900)
    node = Node("node-07", "10.0.7.7")
    api, core = v.Proc(node, 1, "APIServer", 32), v.Proc(node, 120, "EngineCore", 32)
    v.server(
        api,
        1.0,
        VERSION,
        MODEL,
        "KimiK3ForConditionalGeneration",
        262144,
        {
            "model_tag": MODEL,
            "model": MODEL,
            "max_model_len": 262144,
            "tensor_parallel_size": 8,
            "enable_expert_parallel": True,
            "enable_eplb": True,
            "eplb_config": {"num_redundant_experts": 4},
        },
    )
    v.engine(core, 10.0, VERSION, MODEL, 262144, 8)
    for r in range(8):
        w = v.Proc(node, 201 + 5 * r, "Worker", 32)
        v.join(w, 16.0 + rng.random() * 0.5, r, 8, r, "127.0.0.1:51633")
        if r == 0:
            v.assigned(w, 19.0, 0, 8, 0, 0, "0")
        tagged = w.named(f"Worker_TP{r}_EP{r}")
        if r == 0:
            tagged.info(20.0, "gpu_model_runner.py:4105", f"Starting to load model {MODEL}...")
        f.worker_start(tagged, 21.4 + rng.random() * 0.02, FRAMES, ERROR, gap=0.0011)
    over = f.stop_workers(core, 21.5, 0, 8)
    f.climb_start(core, api, over)
    out = Scene(
        what="1 node, TP8 with expert parallelism: 4 redundant experts make 900, which 8 ranks cannot share; all ranks fail alike",
        truth={
            "outcome": "failure",
            "needles": ["n_physical_experts=900 must be divisible by ep_size=8"],
            "all_ranks": True,
            "phases_ok": ["weight_load"],
            "categories_ok": ["configuration"],
        },
        versions={"vllm": VERSION, "wrapper": "plain"},
        how="records of eight workers interleaved; raw tracebacks without tags as since 0.31",
    )
    out.add(f"{node.name}.log", node, plain)
    return out
