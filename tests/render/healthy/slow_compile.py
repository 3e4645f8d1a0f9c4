"""A start that takes twenty minutes: the engine complains every minute that nobody reads its queue, then all is well."""

from __future__ import annotations

import random

from tests.render import vllm as v
from tests.render.envelopes import kubectl
from tests.render.scene import Node, Scene

MODEL, VERSION = "moonshotai/Kimi-K3", "0.27.1"
WAITING = "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization)."


def scene() -> Scene:
    rng = random.Random(60)
    node = Node("kimi-k3-0", "10.2.9.9", zone=8.0)
    api, core = v.Proc(node, 1, "APIServer"), v.Proc(node, 171, "EngineCore")
    v.server(
        api,
        1.0,
        VERSION,
        MODEL,
        "KimiK3ForConditionalGeneration",
        262144,
        {"model_tag": MODEL, "model": MODEL, "max_model_len": 262144, "tensor_parallel_size": 8},
    )
    v.engine(core, 10.0, VERSION, MODEL, 262144, 8)
    workers = [v.Proc(node, 220 + 6 * r, f"Worker_TP{r}") for r in range(8)]
    for r, w in enumerate(workers):
        v.join(w.named("Worker"), 16.0 + rng.random(), r, 8, r, "127.0.0.1:33197")
        w.log(
            22.0 + rng.random(),
            "WARNING",
            "custom_all_reduce.py:165",
            "Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
        )
        v.load(w, 30.0, MODEL, 186.3, 410.0, r == 0)
    for n in range(12):
        core.info(505.0 + 60.1 * n, "shm_broadcast.py:698", WAITING)
    for r, w in enumerate(workers):
        w.log(
            520.0 + rng.random() * 3,
            "WARNING",
            "fused_moe.py:1027",
            f"Using default MoE config. Performance might be sub-optimal! Config file not found at ['/usr/local/lib/python3.12/dist-packages/vllm/model_executor/layers/fused_moe/configs/E=896,N=256,device_name=NVIDIA_B300_SXM6_AC.json'], rank {r}",
        )
    v.warm(workers[0], core, 1190.0, 52.2, 1048576, 262144)
    v.serve(api, 1241.0)
    for n in range(15):
        v.request(api, 1260.0 + 10 * n, "10.2.0.3:40112", "/health", verb="GET")
        v.request(api, 1263.0 + 10 * n + rng.random(), f"10.2.0.8:{40200 + n}")
        v.stats(api, 1265.0 + 10 * n, 320.0 + n, 44.0, 3, 0, 2.2, 61.0)
    out = Scene(
        what="TP8 server whose first compilation takes 12 minutes, then serves",
        truth={"outcome": "no_failure"},
        versions={"vllm": VERSION, "wrapper": "kubectl logs --prefix --timestamps"},
        how="shm_broadcast notices during compilation, as INFO, and the start-up marks after them; containers in zone +08:00",
    )
    out.add(f"{node.name}.log", node, kubectl(node.name, "vllm", stamps=True))
    return out
