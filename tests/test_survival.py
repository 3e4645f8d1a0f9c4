"""What ended nothing, whatever it looks like, and what did although the server's lines go on."""

from __future__ import annotations

from pathlib import Path

import pytest
import reading
from test_alive import BEGAN, BEGINS, answered, hit
from test_decide import crash, root_of, said, start

from k3logs.clocks.window import Window
from k3logs.triage import Options, triage

RECORD = "(EngineCore pid=20) ERROR 08-05 09:31:06 [core.py:981] "
QUOTED = ("Traceback (most recent call last):", '  File "/vllm/v1/engine/core.py", line 975, in _handle_client_request', "    result = method()",
          "RuntimeError: Worker failed with error 'zq', please check the stack trace above for the root cause")


def invocation(method: str) -> str:
    return "".join(RECORD + line + "\n" for line in (f"Invocation of {method} method failed", *QUOTED))


@pytest.mark.parametrize("method", ["add_lora", "profile", "collective_rpc"])
def test_a_call_that_the_engine_answered_with_its_error_failed_alone(method: str) -> None:
    log = start(4) + BEGAN + "".join(hit(r) for r in range(4)) + invocation(method)
    answer = reading.verdict(log + answered(10))
    assert answer.outcome == "no_failure"
    assert "request_errors" in {f.kind for f in answer.findings}


def test_after_such_a_call_the_crash_that_follows_leads() -> None:
    log = start(4) + BEGAN + "".join(hit(r) for r in range(4)) + invocation("add_lora") + answered(10) + crash(1, 50, "RuntimeError: qz", "execute_model").replace("09:31", "09:41")
    root = root_of(reading.verdict(log))
    assert (root.rank, root.message) == (1, "RuntimeError: qz")


def test_a_call_of_the_start_up_itself_ends_it() -> None:
    assert root_of(reading.verdict(start(4) + hit(2) + invocation("add_lora"))).rank == 2


WARNED = "gx2:30{r}:40{r} [{r}] NCCL WARN Cuda failure 1 'invalid argument'\n"


def nodes(warning: str, after: str = "", late: str = "") -> dict[str, str]:
    """Two nodes of one world of 8, wrapped as ``docker logs -t`` does; the second has no server."""
    def stamped(text: str, minute: int) -> str:
        return "".join(f"2026-08-05T09:{minute}:20.000000001Z {line}\n" for line in text.splitlines())

    first = stamped(start(8).rpartition("(Worker pid=304)")[0] + BEGINS, 29) + stamped(BEGAN, 31) + stamped(late or answered(20, 59), 59)
    second = stamped("".join(said(r, 8) for r in range(4, 8)), 29) + stamped(warning, 30) + stamped(after, 31)
    return {"gx1.log": first, "gx2.log": second}


def test_a_warning_on_a_node_without_the_server_ended_nothing_where_the_server_worked_on() -> None:
    assert reading.verdict(nodes(WARNED.format(r=6))).outcome == "no_failure"


def test_an_exception_of_a_worker_with_its_consequences_is_not_cleared_from_another_node() -> None:
    logs = nodes(crash(6, 30), after="(Worker_TP7 pid=307) ERROR 08-05 09:31:20 [x.py:1] RuntimeError: NCCL error: remote process exited or there was a network error\n")
    assert root_of(reading.verdict(logs)).rank == 6


def test_a_worker_that_came_further_outlived_its_warning() -> None:
    warning = "(Worker_TP2 pid=302) WARNING 08-05 09:29:15 [x.py:9] Cuda failure 801 'operation not supported'\n"
    further = "(Worker_TP2 pid=302) INFO 08-05 09:30:40 [gpu_model_runner.py:3280] Model loading took 106.41 GiB memory and 40.5 seconds\n"
    root = root_of(reading.verdict(start(4) + BEGINS.replace("TP0 pid=300", "TP2 pid=302") + warning + further + crash(1, 30)))
    assert root.rank == 1


def test_a_start_that_failed_before_a_good_one_ended_nothing() -> None:
    again = start(4) + BEGINS + BEGAN + answered(10)
    assert reading.verdict(start(4) + BEGINS + crash(2, 30) + again).outcome == "no_failure"
    served = start(4) + BEGINS + BEGAN + answered(10, 30) + crash(2, 30, function="execute_model")
    assert root_of(reading.verdict(served + again)).rank == 2, "it had served: that is an incident"


@pytest.mark.parametrize("name", ["fluent-bit", "python3"])
def test_a_kill_in_another_container_is_no_cause_of_an_exception(name: str) -> None:
    kill = f"Aug 05 09:31:28 n1 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/kubepods/pod77,task_memcg=/kubepods/pod77/x,task={name},pid=99121,uid=0\n"
    root = root_of(reading.verdict({"n1.log": start(4) + BEGAN + crash(2, 30, "AssertionError: zq", "execute_model"), "n1.kern.log": kill}))
    assert (root.rank, root.message) == (2, "AssertionError: zq")


def test_a_link_that_flapped_explains_no_error_of_memory() -> None:
    flap = "".join(f"Aug 05 09:30:{s} n2 kernel: mlx5_core 0000:5d:00.0 ens1f0np0: Link {w}\n" for s, w in (("59", "down"), ("62", "up")))
    root = root_of(reading.verdict({"n1.log": start(4) + BEGAN + crash(1, 30, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB.", "execute_model"),
                                    "n2.kern.log": flap.replace(":62", ":59")}))
    assert (root.rank, root.signature) == (1, "CUDA010")


def test_a_sigkill_that_is_reported_first_leads_the_errors_of_the_peers() -> None:
    died = "(EngineCore pid=20) ERROR 08-05 09:31:30 [multiproc_executor.py:285] Worker proc VllmWorker-3 died unexpectedly (exit code: -9), shutting down executor.\n"
    peers = "".join(crash(r, 30, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered", "execute_model") for r in (0, 2))
    root = root_of(reading.verdict(start(4) + BEGAN + died + peers))
    assert (root.rank, root.rule) == (3, "crash.killed")
    assert root_of(reading.verdict(start(4) + BEGAN + peers + died)).rank != 3, "told last, it may be the consequence"


def test_a_drivers_repetition_of_a_workers_error_is_not_the_drivers() -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 2 has a total capacity of 47.53 GiB"
    trace = ("Exception in worker VllmWorkerProcess while processing method load_model.", "Traceback (most recent call last):", '  File "/vllm/executor/multiproc_worker_utils.py", line 230, in _run_worker_process',
             "    output = executor(*args)", text)
    worker = "".join(f"(VllmWorkerProcess pid=306) ERROR 08-05 09:30:10 multiproc_worker_utils.py:236] {line}\n" for line in trace)
    driver = "".join(f"[rank0]: {line}\n" for line in (trace[1], '  File "/vllm/engine/llm_engine.py", line 347, in __init__', "    self._init()", text))
    others = "".join(f"(VllmWorkerProcess pid={pid}) INFO 08-05 09:30:01 multiproc_worker_utils.py:222] Worker ready; awaiting tasks\n" for pid in (305, 306, 307))
    root = root_of(reading.verdict("INFO 08-05 09:30:00 api_server.py:1] vLLM API server version 0.6.6\n" + others + worker + "INFO 08-05 09:30:32 x.py:1] bye\n" + driver))
    assert (root.rank, root.pid) == (None, 306)


def test_docker_events_tell_of_a_death_that_the_log_does_not() -> None:
    ident = "3f0a1c9be2d477aa01f2"
    events = (f"2026-08-05T09:32:58.279054000Z container oom {ident} (image=vllm/vllm-openai:v0.14.1, name=kimi)\n"
              f"2026-08-05T09:32:58.349054000Z container die {ident} (execDuration=791, exitCode=137, image=vllm/vllm-openai:v0.14.1, name=kimi)\n")
    answer = reading.verdict({"kimi.log": start(4) + BEGAN + answered(10, 31), "docker-events.txt": events})
    assert (answer.outcome, root_of(answer).signature) == ("failure", "RUN025")


def test_an_engine_that_reports_nothing_is_the_one_waited_for() -> None:
    wait = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1800000ms for recv operation to complete"
    lines = ("EngineCore encountered a fatal error.", "Traceback (most recent call last):", '  File "/vllm/v1/engine/core.py", line 1001, in run_busy_loop', "    self._has_global()", wait)
    log = start(4) + "".join(f"(EngineCore_DP{d} pid={270 + d}) INFO 08-05 09:30:00 [core.py:93] Initializing a V1 LLM engine (v0.20.2) with config: model='k3'\n" for d in range(4)) + BEGAN
    log += "".join(f"(EngineCore_DP{d} pid={270 + d}) ERROR 08-05 09:59:00 [core.py:900] {line}\n" for d in (0, 1, 3) for line in lines)
    root = root_of(reading.verdict(log))
    assert (root.rank, root.rule) == (None, "hang.odd_one_out")
    assert "EngineCore_DP2" in root.why[0]


OOPS = "Traceback (most recent call last):\n  File \"train.py\", line 30, in upload\n    put()\nConnectionError: hub is gone\n"


@pytest.mark.parametrize("style", ["step={n} loss=2.1", "{{'loss': 2.1, 'learning_rate': 1e-05, 'epoch': {n}}}", " [2026-08-05 09:13:45] iteration      {n}/    1000 | consumed samples: 7"])
def test_unstamped_training_that_goes_on_met_no_failure(style: str) -> None:
    steps = [style.format(n=n) + "\n" for n in range(1, 300)]
    assert reading.verdict("".join([*steps[:100], OOPS, *steps[100:]])).outcome == "no_failure"
    assert reading.verdict("".join([*steps[:100], OOPS])).outcome == "failure"


def test_a_job_whose_workers_all_ended_well_met_no_failure() -> None:
    done = "I0805 09:41:41.104000 902 torch/distributed/elastic/agent/server/api.py:939] [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.\n"
    closed = "[rank1]:[W805 09:41:40.1 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=62, addr=[a]:1, remote=[b]:2): Failed to recv, got 0 bytes. Connection was likely closed.\n"
    steps = "".join(f"step={n} loss=2.1\n" for n in range(20))
    assert reading.verdict(steps + OOPS + steps + closed + done).outcome == "no_failure"


def test_a_failure_outside_the_time_asked_for_is_said(tmp_path: Path) -> None:
    log = tmp_path / "n1.log"
    log.write_text("".join(f"2026-08-05T09:31:30.000000001Z {line}\n" for line in (start(4) + BEGAN + crash(2, 30)).splitlines()))
    answer = triage([str(log)], options=Options(window=Window.of(since="2026-08-05T10:00:00")))
    assert answer.outcome == "inconclusive"
    assert "outside" in answer.sentence and "Rank 2" in answer.sentence


def test_a_form_that_nothing_reads_is_no_proof_of_health() -> None:
    rows = "".join(f'"Aug 5, 2026 @ 09:31:{n:02d}.000","kimi-0","(APIServer pid=1) INFO 08-05 09:31:{n:02d} [x.py:1] Application startup complete.","x"\n' for n in range(40))
    assert reading.verdict({"export.csv": "time,pod,message,x\n" + rows}).outcome == "inconclusive"
