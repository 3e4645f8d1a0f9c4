"""What ended nothing: errors before the deployment served on, old or foreign kernel reports, quoted lines, sidecars; and what did."""

from __future__ import annotations

import pytest
import reading
from test_decide import START, crash, root_of, said, start

WARN = "(Worker_TP1 pid=301) WARNING 08-05 09:29:30 [x.py:9] CUDA out of memory. Tried to allocate 2.00 GiB.\n"
BEGINS = "(Worker_TP0 pid=300) INFO 08-05 09:29:20 [gpu_model_runner.py:3198] Starting to load model /models/k3...\n"
BEGAN = "(APIServer pid=1) INFO:     Application startup complete.\n"


def answered(second: int, minute: int = 32) -> str:
    return (f"(APIServer pid=1) INFO 08-05 09:{minute}:{second:02d} [loggers.py:257] Engine 000: Avg prompt throughput: 3.1 tokens/s, "
            "Avg generation throughput: 12.5 tokens/s, Running: 3 reqs\n")  # fmt: skip


def hit(rank: int, text: str = "ValueError: zq", minute: int = 31) -> str:
    head = f"(Worker_TP{rank} pid={300 + rank}) ERROR 08-05 09:{minute}:05 [multiproc_executor.py:872]"
    lines = ["WorkerProc hit an exception.", "Traceback (most recent call last):", '  File "/vllm/w.py", line 3, in helper', "    run()", text]
    return "".join(f"{head} {line}\n" for line in lines)


def test_an_error_before_the_start_of_serving_ended_nothing() -> None:
    assert reading.verdict(start(4) + hit(2) + BEGAN).outcome == "no_failure"
    assert root_of(reading.verdict(start(4) + hit(2))).rank == 2


def test_an_error_after_which_tokens_still_come_ended_nothing() -> None:
    assert reading.verdict(start(4) + BEGAN + hit(2) + answered(30)).outcome == "no_failure"


def test_work_that_goes_on_does_not_clear_a_failure_that_others_follow() -> None:
    watchdog = "".join(f"n1:{300 + r}:{400 + r} [{r}] proxy.cc:1598 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable\n" for r in (0, 1, 3))
    lines = ["EngineCore encountered a fatal error.", "Traceback (most recent call last):", '  File "/vllm/core.py", line 900, in run', "    self.step()",
             "RuntimeError: Worker failed with error 'zq', please check the stack trace above for the root cause"]
    died = "".join(f"(EngineCore pid=20) ERROR 08-05 09:31:06 [core.py:900] {line}\n" for line in lines)
    for consequence in (watchdog, died, watchdog + died):
        root = root_of(reading.verdict(start(4) + BEGAN + hit(2) + consequence + answered(30)))
        assert (root.rank, root.message) == (2, "ValueError: zq"), "another replica's lines may stand in the same stream"


def test_work_that_goes_on_does_not_clear_a_kernel_report_that_errors_follow() -> None:
    xid = "Aug 05 09:31:04 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    root = root_of(reading.verdict(start(4) + BEGAN + xid + hit(2, "RuntimeError: CUDA error: unspecified launch failure") + hit(3) + answered(30)))
    assert root.signature == "XID079"


def test_statistics_right_after_an_error_are_of_the_time_before() -> None:
    assert root_of(reading.verdict(start(4) + BEGAN + hit(2) + answered(12, minute=31))).rank == 2


def test_an_engine_without_requests_may_hang() -> None:
    idle = answered(59).replace("12.5 tokens/s, Running: 3", "0.0 tokens/s, Running: 0")
    assert root_of(reading.verdict(start(4) + BEGAN + hit(2) + idle)).rank == 2


def test_a_survived_error_never_outranks_the_death_after_it() -> None:
    died = "(EngineCore pid=20) ERROR 08-05 09:45:00 [multiproc_executor.py:230] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.\n"
    root = root_of(reading.verdict(start(4) + BEGAN + hit(2) + answered(30) + died))
    assert root.rank == 1


def test_a_line_with_an_old_stamp_of_its_own_is_quoted() -> None:
    def stamped(text: str, minute: int) -> str:
        return "".join(f"2026-08-05T09:{minute}:10.000000001Z {line}\n" for line in text.splitlines())

    log = "".join(stamped(line, int(line.split(":")[1])) for line in (START + "".join(said(r, 4) for r in range(4))).splitlines())
    log += stamped("(APIServer pid=1) INFO 08-05 09:40:10 [x.py:1] Available routes are:", 40)
    assert reading.verdict(log + stamped(hit(3), 40)).outcome == "no_failure"
    assert root_of(reading.verdict(log + stamped(hit(3), 31))).rank == 3


@pytest.mark.parametrize(("file", "line"), [
    ("n1.kern.log", "Aug 03 10:16:40 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
    ("n1.kern.log", "Aug 05 09:31:20 n1 kernel: Memory cgroup out of memory: Killed process 8812 (prometheus) total-vm:4123112kB, anon-rss:2012344kB"),
    ("n1.dmesg", "[ 5123.110211] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
])  # fmt: skip
def test_an_old_or_foreign_kernel_report_is_another_story(file: str, line: str) -> None:
    root = root_of(reading.verdict({"n1.log": start(4) + crash(2, 30), file: line + "\n"}))
    assert (root.rank, root.message) == (2, "RuntimeError: zq is broken")


def test_a_kernel_report_right_before_the_error_of_its_gpus_rank_leads() -> None:
    line = "Aug 05 09:31:20 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    root = root_of(reading.verdict({"n1.log": start(4) + crash(2, 30, "RuntimeError: CUDA error: unspecified launch failure"), "n1.kern.log": line}))
    assert (root.rank, root.signature) == (2, "XID079")


def test_of_many_failed_ranks_the_one_whose_own_gpu_failed_is_meant() -> None:
    line = "Aug 05 09:31:20 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    others = "".join(crash(r, 31, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:94, unhandled cuda error") for r in (0, 1, 3))
    root = root_of(reading.verdict({"n1.log": start(4) + crash(2, 30, "torch.AcceleratorError: CUDA error: unspecified launch failure") + others, "n1.kern.log": line}))
    assert (root.rank, root.signature) == (2, "XID079")


@pytest.mark.parametrize("hour", ["09", "17", "02"])
def test_a_kernel_log_in_the_hosts_zone_is_read_in_the_deployments(hour: str) -> None:
    kill = f"Aug 05 {hour}:31:05 n1 kernel: Memory cgroup out of memory: Killed process 88123 (VLLM::Worker) total-vm:9123kB, anon-rss:17234kB\n"
    died = "(EngineCore pid=20) ERROR 08-05 09:31:06 [multiproc_executor.py:285] Worker proc VllmWorker-2 died unexpectedly (exit code: -9), shutting down executor.\n"
    stamped = "".join(f"2026-08-05T09:31:06.000000001Z {line}\n" for line in (start(4) + BEGINS + died).splitlines())
    root = root_of(reading.verdict({"n1.log": stamped, "n1.kern.log": kill}))
    assert (root.rank, root.signature, root.phase) == (2, "KERN001", "weight_load")
    assert ("zone" in " ".join(root.why)) == (hour != "09")
    assert root.confidence < 0.8 or hour == "09"


def test_the_bus_address_leads_to_the_rank_that_opened_the_gpu() -> None:
    init = "n1:{pid}:{pid} [{r}] NCCL INFO ncclCommInitRank comm 0x55d{r} rank {r} nranks 4 cudaDev {r} nvmlDev {r} busId {bus}000 commId 0x1ce7 - Init START\n"
    nccl = "".join(init.format(r=r, pid=300 + r, bus=bus) for r, bus in enumerate(["1b", "3b", "9b", "db"]))
    line = "Aug 05 09:31:20 n1 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    assert root_of(reading.verdict({"n1.log": start(4) + nccl + crash(0, 40) + crash(1, 41), "n1.kern.log": line})).rank == 2


def test_a_stop_after_the_engine_died_was_not_asked_for() -> None:
    dead = "(APIServer pid=1) ERROR 08-05 09:31:05 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
    stop = "(APIServer pid=1) INFO:     Shutting down\n"
    root = root_of(reading.verdict(start(4) + BEGAN + dead + stop + hit(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")))
    assert (root.rank, root.category) == (2, "memory")


def test_a_traceback_that_is_cut_off_is_a_failure_of_its_rank() -> None:
    cut = "".join(hit(2).splitlines(keepends=True)[:-1])
    root = root_of(reading.verdict(start(4) + BEGAN + cut))
    assert root.rank == 2
    assert "its traceback is cut off before the exception" in root.why


def test_a_server_that_goes_on_does_not_clear_a_gpu_lost_by_one_of_its_ranks() -> None:
    xid = "Aug 05 09:31:04 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=302, name=python3, GPU has fallen off the bus.\n"
    answer = reading.verdict({"n1.log": start(4) + BEGAN + hit(0) + answered(30) + answered(40), "n1.kern.log": xid})
    assert (answer.outcome, root_of(answer).signature, root_of(answer).rank) == ("failure", "XID079", 2)
