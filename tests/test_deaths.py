"""Deaths that others report, and consequences alone: who is meant, and when nobody can be blamed."""

from __future__ import annotations

import reading
from test_decide import crash, root_of, start

LOST = "RuntimeError: NCCL error: remote process exited or there was a network error (run with NCCL_DEBUG=WARN for details)"


def died(number: int, process: str = "EngineCore pid=20", second: int = 30) -> str:
    return f"({process}) ERROR 08-05 09:31:{second} [multiproc_executor.py:230] Worker proc VllmWorker-{number} died unexpectedly, shutting down executor.\n"


def on(node: str, ranks: range) -> str:
    return "".join(f"(Worker_TP{r} pid={300 + r}) INFO 08-05 09:29:10 [parallel_state.py:1405] world_size=16 rank={r} local_rank={r % 8} "
                   "distributed_init_method=tcp://10.0.0.1:29500 backend=nccl\n" for r in ranks)  # fmt: skip


def test_a_second_nodes_executor_counts_its_own_workers() -> None:
    logs = {"n1.log": on("n1", range(8)), "n2.log": on("n2", range(8, 16)) + died(5, "Worker_TP8 pid=308")}
    root = root_of(reading.verdict(logs))
    assert (root.rank, root.node) == (13, "n2")


def test_a_nameless_crash_is_that_of_the_death_reported_after_it() -> None:
    segfault = "!!!!!!! Segfault encountered !!!!!!!\n"
    root = root_of(reading.verdict(start(8) + segfault + died(5)))
    assert (root.rank, root.message) == (5, segfault.strip())


def test_a_crash_that_does_not_fit_the_exit_code_is_not_given_to_the_dead() -> None:
    text = start(8) + "terminate called without an active exception\n" + died(5).replace("unexpectedly,", "unexpectedly (exit code: 7),")
    root = root_of(reading.verdict(text))
    assert not (root.rank == 5 and root.message.startswith("terminate"))


def test_slurm_names_task_and_node() -> None:
    root = root_of(reading.verdict("slurmstepd: error: Detected 1 oom_kill event in StepId=8.0. Some of the step tasks have been OOM Killed.\n"
                                   "srun: error: node03: task 19: Out Of Memory\nsrun: error: node01: tasks 0-7: Terminated\n"))
    assert (root.rank, root.node, root.category) == (19, "node03", "memory")


def test_of_many_that_lost_a_peer_none_is_blamed() -> None:
    root = root_of(reading.verdict(on("n1", range(8)) + "".join(crash(r, 30 + r, LOST, "execute_model") for r in range(8))))
    assert root.rank is None
    assert root.confidence < 0.8


def test_the_only_one_that_tells_nothing_is_named() -> None:
    root = root_of(reading.verdict(start(4) + "".join(crash(r, 30 + r, LOST, "execute_model") for r in (0, 1, 3))))
    assert root.rank == 2
    assert root.details["observed"] is False


def test_nodes_without_tied_clocks_are_not_put_in_order() -> None:
    one, two = crash(2, 30, "AssertionError: block table overflow"), crash(9, 10, "KeyError: 'peer_2'")
    root = root_of(reading.verdict({"na.log": one, "nb.log": two}))
    assert root.rank is None
    assert root.confidence <= 0.5


def test_one_ranks_own_error_stands_out_against_the_same_error_on_many() -> None:
    many = "".join(crash(r, 30 + r, "AssertionError: peer buffer handle is None") for r in range(4))
    root = root_of(reading.verdict({"na.log": many, "nb.log": crash(9, 59, "FileNotFoundError: [Errno 2] No such file or directory: '/dev/infiniband/uverbs3'")}))
    assert root.rank == 9


def test_the_odd_operation_of_a_hang_is_the_culprits() -> None:
    def watchdog(rank: int, op: str, size: int) -> str:
        return (f"[rank{rank}]:[E805 09:45:0{rank}.000000000 ProcessGroupNCCL.cpp:685] [PG ID 2 PG GUID 3 Rank {rank}] Watchdog caught collective operation timeout: "
                f"WorkNCCL(SeqNum=88, OpType={op}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n")  # fmt: skip

    text = "".join(watchdog(r, *(("ALLGATHER", 512) if r == 3 else ("ALLREDUCE", 8192))) for r in range(5))
    assert root_of(reading.verdict(text)).rank == 3
