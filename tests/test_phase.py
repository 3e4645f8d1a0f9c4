"""The phase of a failure: frames first, the names that their source lines call, then marks."""

from __future__ import annotations

import pytest
import reading

from k3logs.incidents.phase import Mark as PhaseMark
from k3logs.incidents.phase import furthest, mark_of, of_frames, order

TAG = "(Worker_TP1 pid=302) ERROR 08-05 09:30:50 [multiproc_executor.py:872]"
SERVED = "(APIServer pid=1) INFO 08-05 09:30:40 [launcher.py:37] Available routes are:\n"


# vLLM's own functions by phase: formats/vllm.md section 3 and logs of real runs.
@pytest.mark.parametrize(("functions", "phase"), [
    (["worker_main", "init_device", "init_worker_distributed_environment"], "distributed_init"),
    (["worker_main", "init_device", "_lazy_init"], "device_init"),
    (["worker_main", "load_model", "get_model", "load_weights"], "weight_load"),
    (["worker_busy_loop", "determine_available_memory", "profile_run", "_dummy_run"], "memory_profile"),
    (["determine_available_memory", "profile_run", "compile_fx"], "compile"),
    (["_initialize_kv_caches", "get_kv_cache_configs"], "kv_cache"),
    (["compile_or_warm_up_model", "capture_model"], "graph_capture"),
    (["worker_busy_loop", "execute_model", "forward"], "serving"),
    (["main", "create_engine_config", "create_model_config"], "config"),
    (["<module>", "helper"], None),
])  # fmt: skip
def test_frames_say_the_phase(functions: list[str], phase: str | None) -> None:
    assert of_frames([f"/x/y.py:{n} {name}" for n, name in enumerate(functions)]) == phase


def test_a_called_name_counts_where_the_frame_is_hidden() -> None:
    assert of_frames(["/vllm/v1/executor/abstract.py:75 __init__ > determine_available_memory"]) == "memory_profile"


def failed(frames: str, before: str = "") -> str:
    lines = ["WorkerProc hit an exception.", "Traceback (most recent call last):", *frames.split("\n"), "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."]
    root = reading.verdict(before + "".join(f"{TAG} {line}\n" for line in lines)).root_cause
    assert root is not None
    return root.phase


def test_the_name_that_a_source_line_calls_is_read() -> None:
    frame = '  File "/vllm/v1/executor/multiproc_executor.py", line 812, in worker_busy_loop\n    output = func(*args, **kwargs)'
    assert failed(frame + '\n  File "/usr/lib/contextlib.py", line 120, in decorate\n    return self.determine_available_memory()') == "memory_profile"


def test_what_the_executor_runs_on_its_workers_says_more_than_that_it_runs_it() -> None:
    assert failed('  File "/vllm/v1/executor/abstract.py", line 75, in relay\n    self.collective_rpc("load_model")') == "weight_load"


def test_frames_are_believed_before_marks() -> None:
    mark = "(Worker_TP1 pid=302) INFO 08-05 09:30:20 [gpu_model_runner.py:1] Starting to load model k3...\n"
    assert failed('  File "/vllm/v1/worker/gpu_worker.py", line 9, in determine_available_memory\n    self.model_runner.profile_run()', mark) == "memory_profile"


def test_without_telling_frames_the_last_mark_counts() -> None:
    frame = '  File "/vllm/x.py", line 9, in helper\n    y'
    load = "(Worker_TP1 pid=302) INFO 08-05 09:30:20 [gpu_model_runner.py:1] Starting to load model k3...\n"
    assert failed(frame, load) == "weight_load"
    assert failed(frame, load + SERVED) == "serving"


# One line of each phase, as vLLM prints it.
@pytest.mark.parametrize(("text", "phase"), [
    ("vLLM API server version 0.27.1", "config"), ("Initializing a V1 LLM engine (v0.27.1) with config: model='k3'", "device_init"),
    ("world_size=16 rank=9 local_rank=1 distributed_init_method=tcp://10.0.0.1:29500 backend=nccl", "distributed_init"),
    ("Starting to load model k3...", "weight_load"), ("Model loading took 66.1 GiB memory and 41.2 seconds", "memory_profile"),
    ("Dynamo bytecode transform time: 5.12 s", "compile"), ("Available KV cache memory: 41.2 GiB", "kv_cache"),
    ("Graph capturing finished in 21 secs, took 1.2 GiB", "graph_capture"), ("init engine (profile, create kv cache, warmup model) took 71.2 seconds", "serving"),
    ("Shutting down FastAPI HTTP server.", "shutdown"), ("Engine 000: Avg prompt throughput: 1.0 tokens/s", None),
])  # fmt: skip
def test_marks(text: str, phase: str | None) -> None:
    assert mark_of(text) == phase


def test_phases_are_ordered_as_a_start_goes() -> None:
    assert order("config") < order("device_init") < order("distributed_init") < order("weight_load") < order("kv_cache") < order("serving") < order("shutdown")
    assert furthest([PhaseMark(None, "engine", 0, n, 0.0, p) for n, p in enumerate(("kv_cache", "weight_load"))]) == "kv_cache"
    assert furthest([]) is None
