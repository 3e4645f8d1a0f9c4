"""A server is stopped on purpose; the tear-down kills, complains and raises, in order."""

from __future__ import annotations

import random

from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import cri
from tests.render.scene import Node, Scene

MODEL, VERSION = "moonshotai/Kimi-Linear-48B-A3B-Instruct", "0.32.0"
DEAD = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."


def scene() -> Scene:
    rng = random.Random(15)
    node = Node("kl-0", "10.7.0.4")
    api, core = v.Proc(node, 1, "APIServer", 32), v.Proc(node, 66, "EngineCore", 32)
    v.server(
        api,
        1.0,
        VERSION,
        MODEL,
        "KimiLinearForCausalLM",
        131072,
        {"model_tag": MODEL, "model": MODEL, "max_model_len": 131072, "tensor_parallel_size": 4},
    )
    v.engine(core, 9.0, VERSION, MODEL, 131072, 4)
    workers = [v.Proc(node, 101 + r, f"Worker_TP{r}", 32) for r in range(4)]
    for r, w in enumerate(workers):
        v.join(w.named("Worker"), 14.0 + rng.random(), r, 4, r, "127.0.0.1:38805")
        v.load(w, 17.0, MODEL, 22.83, 61.0, r == 0)
    v.warm(workers[0], core, 80.0, 47.1, 2210432, 131072)
    v.serve(api, 130.0)
    for n in range(20):
        v.request(api, 140.0 + 6 * n + rng.random(), f"10.7.0.9:{51000 + n}")
        if n % 2:
            v.stats(api, 141.0 + 6 * n, 96.3, 51.0, 1, 0, 0.3, 40.1)
    stop(api, core, workers, 270.0)
    out = Scene(
        what="TP4 server, requests, SIGTERM from outside (scale-down), EngineDeadError after the shutdown lines",
        truth={"outcome": "no_failure"},
        versions={"vllm": VERSION, "wrapper": "CRI file"},
        how="order and wording of a clean stop as 0.32 prints it",
    )
    out.add(f"{node.name}.log", node, cri)
    return out


def stop(api: v.Proc, core: v.Proc, workers: list[v.Proc], at: float) -> None:
    api.info(at, "launcher.py:254", "[shutdown] API server: shutdown triggered")
    api.info(at, "launcher.py:270", "[shutdown] API server: stopping engine client mode=abort timeout=0s")
    api.info(at + 0.001, "core_client.py:770", "[shutdown] MPClient: start timeout=0s")
    api.info(at + 0.001, "core_client.py:772", "[shutdown] MPClient: stopping engine manager")
    api.info(at + 0.002, "utils.py:628", "[shutdown] Process manager: send sigterm to process EngineCore")
    api.log(at + 0.003, "WARNING", "utils.py:648", "[shutdown] Process manager: force killing remaining processes count=1")
    api.log(at + 0.003, "WARNING", "utils.py:653", f"[shutdown] Process manager: force killing remaining process EngineCore pid {core.pid}")
    core.info(at + 0.004, "core.py:1454", "[shutdown] EngineCore: trigger received signal=SIGTERM")
    for w in workers:
        api.log(at + 0.006, "WARNING", "system_utils.py:225", f"[shutdown] force killing sub process VLLM::{w.tag} pid {w.pid}")
    core.info(at + 0.007, "core.py:1635", "[shutdown] EngineCore: start mode=abort timeout=0s")
    workers[0].info(at + 0.02, "multiproc_executor.py:843", "Parent process exited, terminating worker queues")
    api.log(
        at + 0.05,
        "ERROR",
        "async_llm.py:906",
        "AsyncLLM output_handler failed.\n"
        + f.traceback(
            [
                ("vllm/v1/engine/async_llm.py", 849, "output_handler", "outputs = await engine_core.get_output_async()"),
                ("vllm/v1/engine/core_client.py", 1235, "get_output_async", "raise self._format_exception(outputs) from None"),
            ],
            DEAD,
        ),
    )
    api.info(at + 0.06, "core_client.py:774", "[shutdown] MPClient: engine manager stopped")
    api.info(at + 0.06, "core_client.py:777", "[shutdown] MPClient: complete")
    api.info(at + 0.07, "launcher.py:304", "[shutdown] API server: shutting down FastAPI HTTP server")
    api.raw(
        at + 0.08,
        "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.\nINFO:     Finished server process [1]",
    )
    api.raw(
        at + 0.4,
        "/usr/lib/python3.12/multiprocessing/resource_tracker.py:279: UserWarning: resource_tracker: There appear to be 4 leaked shared_memory objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '",
    )
