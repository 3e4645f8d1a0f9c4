"""What a failure is in its incident: a clean-up, an error that was handled, one request's, or one that ended its process."""

from __future__ import annotations

import reading

from k3logs.incidents.roles import Progress
from k3logs.model import Verdict

START = "(APIServer pid=1) INFO 08-05 09:29:00 [api_server.py:1] vLLM API server version 0.27.1\n"
READY = "(APIServer pid=1) INFO 08-05 09:30:00 [launcher.py:37] Available routes are:\n"
STATS = "(APIServer pid=1) INFO 08-05 09:31:{:02d} [loggers.py:257] Engine 000: Avg prompt throughput: 3.1 tokens/s, Avg generation throughput: 4.0 tokens/s, Running: 1 reqs\n"
STOP = "(APIServer pid=1) INFO 08-05 09:32:00 [launcher.py:101] Shutting down FastAPI HTTP server.\n"


def record(tag: str, lines: str, second: int, minute: int = 31) -> str:
    return "".join(f"{tag} ERROR 08-05 09:{minute}:{second:02d} [x.py:7] {line}\n" for line in lines.split("\n"))


def error(kind: str, frame: str, head: str = "A step failed.") -> str:
    return f'{head}\nTraceback (most recent call last):\n  File "{frame}\n    run()\n{kind}'


WORKER = "(Worker_TP1 pid=302)"
FRAME = '/vllm/v1/worker/gpu_worker.py", line 9, in execute_model'
SERVED = START + READY + STATS.format(1)


def roles(answer: Verdict) -> tuple[str, list[str]]:
    return answer.outcome, [f.kind for f in answer.findings]


def test_what_follows_an_ordered_stop_is_tear_down() -> None:
    broken = record(WORKER, error("RuntimeError: zq is gone", FRAME), 5, 32)
    assert reading.verdict(SERVED + STOP + broken).outcome == "no_failure"
    assert reading.verdict(SERVED + broken + STOP.replace("09:32:00", "09:32:30")).outcome == "failure"


def test_an_exception_raised_while_cleaning_up_is_no_cause() -> None:
    frame = '/vllm/v1/executor/multiproc_executor.py", line 9, in shutdown'
    assert reading.verdict(SERVED + record(WORKER, error("RuntimeError: zq is gone", frame), 5)).outcome == "no_failure"


def test_an_error_after_which_its_process_went_on_was_handled() -> None:
    failing = record(WORKER, error("RuntimeError: zq is slow", FRAME), 5)
    on = f"{WORKER} INFO 08-05 09:31:09 [gpu_worker.py:8] step done\n"
    assert roles(reading.verdict(SERVED + failing + on)) == ("no_failure", ["handled_errors"])
    assert reading.verdict(SERVED + failing).outcome == "failure"


def test_lines_of_the_same_moment_prove_no_going_on() -> None:
    failing = record(WORKER, error("RuntimeError: zq is slow", FRAME), 5)
    assert reading.verdict(SERVED + failing + f"{WORKER} INFO 08-05 09:31:05 [gpu_worker.py:8] step done\n").outcome == "failure"
    progress = Progress({0: (10, 100.1)})
    assert not progress.went_on(0, 5, 100.0)
    assert progress.went_on(0, 5, 99.0)
    assert not progress.went_on(0, 11, 0.0)
    assert not progress.went_on(1, 5, 0.0)


def test_what_vllm_calls_fatal_is_not_handled_though_its_process_prints_on() -> None:
    failing = record(WORKER, error("RuntimeError: zq is gone", FRAME, "WorkerProc hit an exception."), 5)
    on = f"{WORKER} INFO 08-05 09:31:09 [multiproc_executor.py:8] Parent process exited, terminating worker queues\n"
    assert reading.verdict(SERVED + failing + on).outcome == "failure"


def test_an_error_while_a_request_is_handled_is_the_requests() -> None:
    frame = '/vllm/entrypoints/openai/serving_chat.py", line 9, in create_chat_completion'
    answer = reading.verdict(SERVED + record("(APIServer pid=1)", error("ValueError: zq is too long", frame), 5) + STATS.format(11))
    assert roles(answer) == ("no_failure", ["request_errors"])
    assert answer.route == "request"


def test_an_error_of_a_server_that_goes_on_was_a_requests() -> None:
    failing = record("(APIServer pid=1)", error("ValueError: zq is too long", '/site/plugin.py", line 9, in transform'), 5)
    assert roles(reading.verdict(SERVED + failing + STATS.format(15))) == ("no_failure", ["request_errors"])


# One exception as the worker, the engine, multiprocessing and the API server each print it (vllm.md, section 4).
SAID = "RuntimeError: zq ran out of slots"
WORKERS = record(WORKER, error(SAID, FRAME, "WorkerProc hit an exception."), 5)
ENGINES = record("(EngineCore pid=187)", error(f"RuntimeError: Worker failed with error '{SAID[14:]}', please check the stack trace above for the root cause", '/vllm/v1/engine/core.py", line 9, in run_busy_loop',
                                               "EngineCore encountered a fatal error."), 6)  # fmt: skip
PROCESS = ('Process EngineCore:\nTraceback (most recent call last):\n  File "/vllm/v1/engine/core.py", line 9, in run_busy_loop\n    run()\n'
           f"RuntimeError: Worker failed with error '{SAID[14:]}', please check the stack trace above for the root cause\n")  # fmt: skip
SERVERS = record("(APIServer pid=1)", error("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
                                            '/vllm/v1/engine/async_llm.py", line 9, in output_handler', "AsyncLLM output_handler failed."), 7)  # fmt: skip


def test_one_exception_that_four_processes_print_is_one_failure_of_the_worker() -> None:
    answer = reading.verdict(SERVED + WORKERS + ENGINES + PROCESS + SERVERS)
    root = answer.root_cause
    assert root is not None
    assert (root.rank, root.process, root.exception and root.exception.message) == (1, "Worker_TP1", SAID[14:])
    assert not answer.alternatives


def test_the_order_in_the_file_does_not_make_the_engine_the_teller() -> None:
    root = reading.verdict(SERVED + ENGINES + PROCESS + WORKERS + SERVERS).root_cause
    assert root is not None
    assert root.rank == 1


def test_the_same_traceback_twice_in_one_process_is_one_failure() -> None:
    again = WORKERS.replace("09:31:05", "09:31:06")
    answer = reading.verdict(SERVED + WORKERS + again)
    assert answer.root_cause is not None
    assert answer.root_cause.line <= (SERVED + WORKERS).count("\n")
    assert not answer.alternatives


WRAPPER = "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)"


def test_a_wrapper_after_the_warning_of_its_own_process_follows_from_it() -> None:
    warning = "[2026-08-05 09:31:04] box-1:302:380 [1] misc/ibvwrap.cc:172 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
    said = "(Worker_TP1 pid=302) INFO 08-05 09:29:10 [parallel_state.py:1] world_size=2 rank=1 local_rank=1 distributed_init_method=tcp://h:1 backend=nccl\n"
    both = reading.verdict({"box-1.log": START + said + warning + record(WORKER, error(WRAPPER, FRAME, "WorkerProc failed to start."), 5)}).root_cause
    alone = reading.verdict({"box-1.log": START + said + record(WORKER, error(WRAPPER, FRAME, "WorkerProc failed to start."), 5)}).root_cause
    assert both is not None and alone is not None
    assert both.message == "Call to ibv_reg_mr failed with error Cannot allocate memory"
    assert (both.rank, alone.rank) == (1, 1)
    assert alone.message == WRAPPER
