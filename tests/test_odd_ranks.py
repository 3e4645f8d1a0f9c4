"""The rank that differs from all others, ranks that failed alike, replicas, and numbers that are no ranks."""

from __future__ import annotations

import pytest
import reading
from test_alive import BEGAN, answered
from test_decide import START, crash, root_of, said, start

LAUNCH = "torch.AcceleratorError: CUDA error: unspecified launch failure"


def test_of_all_that_fail_alike_the_one_with_its_own_error_leads() -> None:
    log = start(8) + BEGAN + "".join(crash(r, 31, LAUNCH, "execute_model") for r in range(8) if r != 5) + crash(5, 31, "RuntimeError: Failed: Assertion error deep_ep.cpp:1231", "execute_model")
    root = root_of(reading.verdict(log))
    assert (root.rank, root.rule) == (5, "crash.own_error")


def test_an_error_of_one_rank_long_after_that_of_all_others_is_no_cause() -> None:
    log = start(8) + BEGAN + "".join(crash(r, 31, LAUNCH, "execute_model") for r in range(8) if r != 5) + crash(5, 50, "RuntimeError: zq", "execute_model")
    root = root_of(reading.verdict(log))
    assert (root.rank, root.rule) == (None, "crash.all_ranks")


def test_all_that_wait_alike_wait_for_the_one_that_is_silent() -> None:
    late = "torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank {r}, for key: store_based_barrier_key:2 (world_size=8, num_workers_joined=7, timeout=0:30:00 error=wait timeout after 1800000ms, keys: store_based_barrier_key:2:last_worker)"
    log = start(8) + "".join(crash(r, 31, late.format(r=r), "init_process_group") for r in range(8) if r != 3)
    assert root_of(reading.verdict(log)).rank == 3


def test_replicas_share_numbers_not_ranks() -> None:
    died = "(EngineCore pid=20) ERROR 08-05 09:31:30 [multiproc_executor.py:285] Worker proc VllmWorker-2 died unexpectedly (exit code: -9), shutting down executor.\n"
    loads = "".join(f"(Worker_TP{r} pid={300 + r}) INFO 08-05 09:29:20 [gpu_model_runner.py:3198] Starting to load model k3...\n" for r in range(4))
    engine = "(EngineCore pid=20) INFO 08-05 09:29:05 [core.py:93] Initializing a V1 LLM engine (v0.20.2) with config: model='k3'\n"
    healthy = start(4) + engine + loads + BEGAN + answered(30)
    logs = {"kimi-6f-aaaaa.log": healthy, "kimi-6f-bbbbb.log": start(4) + engine + loads + BEGAN + died}
    root = root_of(reading.verdict(logs))
    assert (root.rank, root.node) == (2, "kimi-6f-bbbbb")


@pytest.mark.parametrize("text", ["LoRA rank 2 is not supported", "DP rank 3: scheduler wave 17 is behind", "Expected a rank 3 tensor but got rank 2", "page rank 1 out of range"])
def test_a_number_after_rank_may_be_of_something_else(text: str) -> None:
    lines = ("EngineCore failed to start.", "Traceback (most recent call last):", '  File "/vllm/v1/engine/core.py", line 9, in __init__', "    run()", f"ValueError: {text}")
    log = start(4) + "".join(f"(EngineCore pid=20) ERROR 08-05 09:31:06 [core.py:981] {line}\n" for line in lines)
    assert root_of(reading.verdict(log)).rank is None


def test_collectives_of_two_groups_are_not_compared() -> None:
    work = ("[rank{r}]:[E805 09:31:06.1 ProcessGroupNCCL.cpp:685] [PG ID {pg} PG GUID {guid} Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, "
            "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n")  # fmt: skip
    log = start(4) + "".join(work.format(r=r, pg=2, guid="3(tp)", seq=9120) for r in (0, 1)) + work.format(r=2, pg=3, guid="24(pp)", seq=4410)
    answer = reading.verdict(log)
    assert root_of(answer).rule != "hang.behind"


def test_a_stop_of_the_head_ends_the_other_nodes() -> None:
    stop = ("(APIServer pid=1) INFO 08-05 09:40:00 [launcher.py:110] Shutting down FastAPI HTTP server.\n"
            "(APIServer pid=1) INFO:     Application shutdown complete.\n")
    first = START + "".join(said(r, 8) for r in range(4)) + BEGAN + answered(30) + stop
    closed = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.3.1.1]:31118"
    second = "".join(said(r, 8) for r in range(4, 8)) + crash(6, 30, closed, "execute_model").replace("09:31:30", "09:40:03")
    stamped = {name: "".join(f"2026-08-05T{(_m := line.split(' 08-05 ')[1][:8] if ' 08-05 ' in line else '09:40:02')}.000000001Z {line}\n" for line in text.splitlines())
               for name, text in (("lws-0.log", first), ("lws-0-1.log", second))}
    assert reading.verdict(stamped).outcome == "no_failure"


def test_ray_repeats_its_actors_error() -> None:
    text = "safetensors_rust.SafetensorError: Error while deserializing header: header too large"
    actor = "(RayWorkerWrapper pid=2277, ip=10.0.0.12) "
    lines = ("Error executing method 'load_model'. This might cause deadlock in distributed execution.", "Traceback (most recent call last):",
             '  File "/vllm/v1/worker/gpu_worker.py", line 9, in load_model', "    self.load()", text)
    log = start(1) + "".join(f"{actor}ERROR 08-05 09:31:06 [worker_base.py:620] {line}\n" for line in lines)
    caller = ("EngineCore failed to start.", "Traceback (most recent call last):", '  File "/ray/_private/worker.py", line 2, in get', "    raise value.as_instanceof_cause()",
              f"ray.exceptions.RayTaskError(SafetensorError): ray::RayWorkerWrapper.execute_method() (pid=2277, ip=10.0.0.12, actor_id=aa) {text}")
    log += "".join(f"(EngineCore pid=20) ERROR 08-05 09:31:06 [core.py:981] {line}\n" for line in caller)
    root = root_of(reading.verdict(log))
    assert (root.pid, root.message) == (2277, text)


def test_a_gpus_own_line_belongs_to_the_rank_whose_gpu_fails_next() -> None:
    line = "/pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:94: operator(): block: [117,0,0], thread: [0,0,0] Assertion `-sizes[i] <= index && index < sizes[i]` failed.\n"
    root = root_of(reading.verdict(start(4) + BEGAN + line + crash(2, 31, "torch.AcceleratorError: CUDA error: device-side assert triggered", "execute_model")))
    assert root.rank == 2
