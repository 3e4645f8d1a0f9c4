"""Which failure is the root: crashes, deaths without a word, hangs, failures of all, stops and restarts."""

from __future__ import annotations

import pytest
import reading

from k3logs.incidents.runs import leading
from k3logs.model import Suspect, Verdict

START = "(APIServer pid=1) INFO 08-05 09:29:00 [api_server.py:1] vLLM API server version 0.27.1\n"
READY = "(APIServer pid=1) INFO 08-05 09:30:00 [launcher.py:37] Available routes are:\n"
STATS = "(APIServer pid=1) INFO 08-05 09:30:30 [loggers.py:257] Engine 000: Avg prompt throughput: 3.1 tokens/s\n"


def said(rank: int, world: int) -> str:
    return (f"(Worker pid={300 + rank}) INFO 08-05 09:29:10 [parallel_state.py:1405] world_size={world} rank={rank} local_rank={rank} "
            "distributed_init_method=tcp://10.0.0.1:29500 backend=nccl\n")  # fmt: skip


def crash(rank: int, second: int, kind: str = "RuntimeError: zq is broken", function: str = "load_model") -> str:
    head = f"(Worker_TP{rank} pid={300 + rank}) ERROR 08-05 09:31:{second:02d} [multiproc_executor.py:872]"
    lines = ["WorkerProc failed to start.", "Traceback (most recent call last):", f'  File "/vllm/w.py", line 3, in {function}', "    run()", kind]
    return "".join(f"{head} {line}\n" for line in lines)


def start(world: int) -> str:
    return START + "".join(said(rank, world) for rank in range(world))


def root_of(answer: Verdict) -> Suspect:
    assert answer.root_cause is not None
    return answer.root_cause


# Crashes.


@pytest.mark.parametrize("first", range(4))
def test_of_different_errors_the_first_leads(first: int) -> None:
    lines = [crash(rank, 20 if rank == first else 40 + rank, f"RuntimeError: {'zq' if rank == first else 'yw' * (rank + 1)} is broken") for rank in range(4)]
    root = root_of(reading.verdict(start(4) + "".join(sorted(lines, key=lambda text: text.split("09:31:")[1]))))
    assert (root.rank, root.message) == (first, "RuntimeError: zq is broken")


def test_errors_of_one_second_are_not_put_in_order_for_sure() -> None:
    sure = root_of(reading.verdict(start(4) + crash(1, 20, "RuntimeError: zq is broken") + crash(2, 40, "KeyError: 'yw'")))
    unsure = root_of(reading.verdict(start(4) + crash(1, 20, "RuntimeError: zq is broken") + crash(2, 20, "KeyError: 'yw'")))
    assert sure.rank == 1
    assert unsure.confidence <= sure.confidence


def test_the_same_failure_on_all_ranks_is_nobodys() -> None:
    answer = reading.verdict(start(4) + "".join(crash(rank, 20 + rank) for rank in range(4)))
    root = root_of(answer)
    assert (root.rank, root.ranks) == (None, [0, 1, 2, 3])
    assert answer.sentence.startswith("4 ranks failed alike")


def test_one_of_four_is_not_all() -> None:
    assert root_of(reading.verdict(start(4) + crash(2, 20))).ranks == [2]


# Deaths.

DEATH = "(EngineCore pid=187) ERROR 08-05 09:31:{:02d} [multiproc_executor.py:273] Worker proc VllmWorker-{} died unexpectedly, shutting down executor.\n"


def test_a_worker_that_died_without_a_word_is_the_root_and_said_to_be_unseen() -> None:
    answer = reading.verdict(start(2) + READY + STATS + DEATH.format(30, 1))
    root = root_of(answer)
    assert (root.rank, root.details.get("observed")) == (1, False)
    assert "Worker proc VllmWorker-1 died" in root.raw
    assert [row.state for row in answer.ranks if row.rank == 1] == ["silent"]


def test_a_death_of_a_worker_with_words_of_its_own_is_a_consequence() -> None:
    root = root_of(reading.verdict(start(2) + crash(1, 20) + DEATH.format(30, 1)))
    assert (root.rank, root.message) == (1, "RuntimeError: zq is broken")
    assert root.details.get("observed") is not False


def test_the_death_of_one_does_not_excuse_the_error_of_another_before_it() -> None:
    assert root_of(reading.verdict(start(2) + crash(0, 20) + DEATH.format(50, 1))).rank == 0


def test_a_launchers_table_gives_an_untagged_traceback_its_rank() -> None:
    summary = "".join(
        f"[{n}]:\n  time      : 2026-08-05_09:31:0{2 + n}\n  host      : box-1\n  rank      : {rank} (local_rank: {rank})\n  exitcode  : {code} (pid: {300 + rank})\n  error_file: <N/A>\n"
        for n, (rank, code) in enumerate([(3, 1)])
    )  # fmt: skip
    text = (
        "I0805 09:29:49.605000 77 torch/distributed/elastic/agent/server/api.py:525]   global_ranks=[0, 1, 2, 3]\n"
        'Traceback (most recent call last):\n  File "train.py", line 3, in step\n    run()\nRuntimeError: zq is broken\n'
        "W0805 09:31:02.000000 77 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 300 closing signal SIGTERM\n"
        "E0805 09:31:03.000000 77 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 3 (pid: 303) of binary: /usr/bin/python\n"
        "Root Cause (first observed failure):\n" + summary
    )  # fmt: skip
    root = root_of(reading.verdict(text))
    assert (root.rank, root.message) == (3, "RuntimeError: zq is broken")


# Hangs.


def watchdog(rank: int, seq: int, enqueued: int, second: int = 0) -> str:
    head = f"[rank{rank}]:[E805 09:41:{second:02d}.123456789 ProcessGroupNCCL.cpp:"
    return (f"{head}629] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) "
            f"ran for 600012 milliseconds before timing out.\n"
            f"{head}2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {enqueued}, "
            f"last completed work: {seq - 1}\n")  # fmt: skip


def steps(ranks: int) -> str:
    return "".join(f"[default{rank}]:2026-08-05 09:31:0{n},000 [rank{rank}] INFO train: step={n} loss=2.0\n" for n in range(3) for rank in range(ranks))


def test_the_rank_that_enqueued_less_is_waited_for_not_the_one_that_spoke_first() -> None:
    root = root_of(reading.verdict(steps(4) + "".join(watchdog(rank, 40 if rank == 2 else 41, 40 if rank == 2 else 44, 9 if rank == 2 else rank) for rank in (0, 1, 2, 3))))
    assert (root.rank, root.phase) == (2, "serving")


def test_the_rank_that_reports_nothing_is_waited_for() -> None:
    answer = reading.verdict(steps(4) + "".join(watchdog(rank, 41, 44, rank) for rank in (0, 1, 3)))
    root = root_of(answer)
    assert (root.rank, root.details.get("observed")) == (2, False)
    assert "wait" in answer.sentence


def test_where_all_wait_alike_no_rank_is_blamed() -> None:
    answer = reading.verdict(steps(4) + "".join(watchdog(rank, 41, 44) for rank in range(4)))
    root = answer.root_cause
    assert answer.outcome == "inconclusive"
    assert root is None or root.rank is None
    assert any("py-spy" in text for text in answer.missing)


def joined(count: int) -> str:
    head = "(Worker pid=300) ERROR 08-05 09:39:10 [multiproc_executor.py:872]"
    lines = ["WorkerProc failed to start.", "Traceback (most recent call last):", '  File "/torch/distributed/rendezvous.py", line 3, in _create_c10d_store', "    return TCPStore(",
             f"torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. {count}/4 clients joined."]  # fmt: skip
    return "".join(f"{head} {line}\n" for line in lines)


def test_a_rank_that_never_came_is_found_by_elimination() -> None:
    root = root_of(reading.verdict(START + said(0, 4) + said(1, 4) + said(3, 4) + joined(3)))
    assert (root.rank, root.phase) == (2, "distributed_init")


def test_of_several_that_never_came_none_is_blamed() -> None:
    assert root_of(reading.verdict(START + said(0, 4) + said(1, 4) + joined(2))).rank is None


def test_a_stop_from_outside_after_time_outs_ends_a_hang_and_is_not_its_cause() -> None:
    killed = "slurmstepd: error: *** STEP 12345.0 ON box-1 CANCELLED AT 2026-08-05T09:55:05 DUE TO TIME LIMIT ***\n"
    root = root_of(reading.verdict(steps(4) + "".join(watchdog(rank, 41, 44, rank) for rank in (0, 1, 3)) + killed))
    assert root.rank == 2
    alone = root_of(reading.verdict(steps(4) + killed))
    assert alone.category == "external"


# Consequences, stops, nothing.


def test_consequences_alone_leave_the_cause_unseen_and_the_logs_asked_for() -> None:
    gone = "".join(f"[2026-08-05 09:31:0{rank}] box-1:{300 + rank}:{380 + rank} [{rank}] misc/socket.cc:947 NCCL WARN socketProgress: Connection closed by remote peer box-2.lan<41873>\n"
                   for rank in (0, 1))  # fmt: skip
    answer = reading.verdict({"box-1.log": START + said(0, 4) + said(1, 4) + gone})
    assert answer.outcome in ("failure", "inconclusive")
    assert root_of(answer).details.get("observed") is False
    assert root_of(answer).confidence <= 0.7
    assert any("dmesg" in text for text in answer.missing)


def test_an_ordered_stop_of_a_server_is_no_failure_and_a_start_that_just_ends_is_open() -> None:
    stop = "(APIServer pid=1) INFO 08-05 09:32:00 [launcher.py:101] Shutting down FastAPI HTTP server.\n"
    assert reading.verdict(start(2) + READY + STATS + stop).outcome == "no_failure"
    assert reading.verdict(start(2) + "(Worker_TP0 pid=300) INFO 08-05 09:29:20 [gpu_model_runner.py:1] Starting to load model k3...\n").outcome == "inconclusive"


# Restarts.


@pytest.mark.parametrize(("failing", "served", "leader"), [
    ([], [], None), ([0], [], 0), ([0, 1, 2], [], 0), ([0, 1, 2], [1], 1), ([0, 2, 3], [1], 2), ([1, 2], [0], 1), ([0, 1], [0], 0), ([0, 1, 2], [0], 0),
])  # fmt: skip
def test_attempts_in_a_row_are_one_incident_and_of_several_the_latest_leads(failing: list[int], served: list[int], leader: int | None) -> None:
    assert leading(failing, served) == leader


def later(text: str, minutes: int) -> str:
    for minute in (31, 30, 29):
        text = text.replace(f"09:{minute}:", f"09:{minute + minutes}:")
    return text


LOADING = "(Worker_TP0 pid=300) INFO 08-05 09:29:20 [gpu_model_runner.py:1] Starting to load model k3...\n"


def test_the_first_failing_attempt_leads() -> None:
    root = root_of(reading.verdict(start(2) + LOADING + crash(0, 20, "KeyError: 'yw'") + later(start(2) + LOADING + crash(1, 20), 10)))
    assert (root.rank, root.message) == (0, "KeyError: 'yw'")


def test_after_serving_the_latest_incident_leads() -> None:
    root = root_of(reading.verdict(start(2) + LOADING + READY + STATS + crash(0, 20, "KeyError: 'yw'", "execute_model") + later(start(2) + LOADING + READY + STATS + crash(1, 20), 10)))
    assert (root.rank, root.message) == (1, "RuntimeError: zq is broken")
