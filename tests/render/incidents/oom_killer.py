"""The kernel kills one worker of a server that works; the worker itself leaves no line."""

from __future__ import annotations

import random

from tests.render import kernel as k
from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import journal, kubectl
from tests.render.scene import Node, Scene

MODEL, VERSION = "RedHatAI/Kimi-K3-NVFP4", "0.27.1"
KILL = 1204.8
CONTAINER = "4b7d0c1e9a3f5582c6e17fd08b94a2d361f5c7be0d92a84e6b13f7c05d8e2a96"


def scene() -> Scene:
    rng = random.Random(9)
    node = Node("worker-b200-3", "10.20.0.33")
    api, core = v.Proc(node, 1, "APIServer"), v.Proc(node, 214, "EngineCore")
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
            "cpu_offload_gb": 96,
            "mm_processor_cache_gb": 24,
        },
    )
    v.engine(core, 11.0, VERSION, MODEL, 262144, 8)
    workers = [v.Proc(node, 305 + 6 * r, "Worker") for r in range(8)]
    for r, w in enumerate(workers):
        v.join(w, 18.0 + rng.random(), r, 8, r, "127.0.0.1:44871")
        if r == 0:
            v.assigned(w, 24.0, 0, 8, 0, 0)
        v.load(w.named(f"Worker_TP{r}"), 25.0, MODEL, 141.20, 301.7, r == 0)
    v.warm(workers[0].named("Worker_TP0"), core, 330.0, 22.95, 918528, 262144)
    v.serve(api, 380.0)
    for n in range(40):
        v.request(api, 400.0 + 20 * n + rng.random() * 9, f"10.20.0.7:{42000 + rng.randrange(900)}")
        if n % 4 == 0:
            v.stats(api, 405.0 + 20 * n, 2210.5 + rng.randrange(90), 288.0 + rng.randrange(40), 6 + n % 5, n % 2, 31.0 + n * 0.4, 12.5)
    k.killed_in_cgroup(node, KILL, 2917745, "VLLM::Worker_TP", CONTAINER, 402653184, 1468006400)
    core.log(
        KILL + 0.7,
        "ERROR",
        "multiproc_executor.py:284",
        "Worker proc VllmWorker-5 died unexpectedly (exit code: -9), shutting down executor.",
    )
    for r in (0, 1, 2, 3, 4, 6, 7):
        workers[r].named(f"Worker_TP{r}").info(
            KILL + 0.72 + rng.random() * 0.05, "multiproc_executor.py:777", "Parent process exited, terminating worker queues"
        )
    over = f.stop_workers(core, KILL + 0.7, 0, 7)
    core.log(
        over,
        "ERROR",
        "core.py:1070",
        "EngineCore encountered a fatal error.\n"
        + f.traceback(
            [
                ("vllm/v1/engine/core.py", 1055, "run_engine_core", "engine_core.run_busy_loop()"),
                ("vllm/v1/engine/core.py", 1206, "_handle_client_request", 'raise RuntimeError("Executor failed.")'),
            ],
            "RuntimeError: Executor failed.",
        ),
    )
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    api.log(
        over + 0.02,
        "ERROR",
        "async_llm.py:746",
        "AsyncLLM output_handler failed.\n"
        + f.traceback([("vllm/v1/engine/async_llm.py", 703, "output_handler", "outputs = await engine_core.get_output_async()")], dead),
    )
    for n in range(4):
        v.request(api, over + 0.05 + n * 0.01, f"10.20.0.7:{42100 + n}", status="500 Internal Server Error")
    api.raw(
        over + 0.4,
        "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.\nINFO:     Finished server process [1]",
    )
    k.kernel(node, KILL + 2.9, "NVRM: Xid (PCI:0000:c4:00): 45, pid=2917745, name=VLLM::Worker_TP, Ch 00000010")
    out = Scene(
        what="1 node, TP8 serving with CPU offload: the cgroup's OOM killer takes the worker of rank 5",
        truth={
            "outcome": "failure",
            "needles": [
                "Memory cgroup out of memory: Killed process 2917745",
                "oom-kill:constraint=CONSTRAINT_MEMCG",
                "Worker proc VllmWorker-5 died unexpectedly (exit code: -9)",
                "VLLM::Worker_TP invoked oom-killer",
            ],
            "ranks_ok": [5],
            "node": node.name,
            "phases_ok": ["serving"],
            "categories_ok": ["memory", "host"],
        },
        versions={"vllm": VERSION, "kernel": "6.8.0", "wrapper": "kubectl logs --prefix; journalctl -k -o short"},
        how="the pid in the kernel's lines is the host's, the one in vLLM's tags the container's; the Xid 45 afterwards is the clean-up of the killed process",
    )
    out.add(f"{node.name}.log", node, kubectl("kimi-k3-nvfp4-0", "vllm"))
    out.add(f"{node.name}.kern.log", node, journal, "kernel")
    return out
