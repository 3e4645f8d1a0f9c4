"""What task numbers, tags and file names say of ranks and nodes, and when they say nothing."""

from __future__ import annotations

import pytest
import reading
from test_decide import crash, root_of, said, start

from k3logs.identity import facts
from k3logs.identity.places import own_name
from k3logs.identity.process import global_rank

ERROR = ("(Worker_PP{pp}_TP{tp} pid={pid}) ERROR 08-05 09:31:30 [multiproc_executor.py:872] {text}\n")
TRACE = ("WorkerProc hit an exception.", "Traceback (most recent call last):", '  File "/vllm/w.py", line 3, in execute_model', "    run()", "RuntimeError: zq is broken")
CONFIG = "(APIServer pid=1) INFO 08-05 09:29:01 [utils.py:253] non-default args: {'model': 'k3', 'pipeline_parallel_size': 2, 'tensor_parallel_size': 8}\n"


def broken(pp: int, tp: int, pid: int) -> str:
    return "".join(ERROR.format(pp=pp, tp=tp, pid=pid, text=text) for text in TRACE)


@pytest.mark.parametrize("label", ["{task}: ", "[1,{task}]<stdout>:"])
def test_a_task_with_several_workers_is_a_node_not_a_rank(label: str) -> None:
    def labelled(task: int, text: str) -> str:
        return "".join(label.format(task=task) + line + "\n" for line in text.splitlines())

    log = labelled(0, CONFIG)
    for task in (0, 1):
        for local in range(8):
            log += labelled(task, said(8 * task + local, 16).replace(f"pid={308 + local}", f"pid={300 + local}"))
    root = root_of(reading.verdict(log + labelled(1, broken(1, 1, 301))))
    assert (root.rank, root.node) == (9, "task 1")


def test_one_task_of_each_rank_is_the_rank() -> None:
    log = "".join(f"{r}: INFO dataloader worker={r}\n" for r in range(4))
    log += "".join(f"2: {line}\n" for line in ("Traceback (most recent call last):", '  File "t.py", line 3, in main', "    run()", "RuntimeError: zq is broken"))
    assert root_of(reading.verdict(log)).rank == 2


def test_a_tag_gives_a_rank_only_with_sizes_that_are_sure() -> None:
    cut = root_of(reading.verdict(broken(1, 4, 316)))
    assert (cut.rank, cut.process) == (None, "Worker_PP1_TP4"), "TP may be 5, 8 or 16"
    assert root_of(reading.verdict(CONFIG + broken(1, 4, 316))).rank == 12
    assert root_of(reading.verdict(broken(0, 4, 316))).rank == 4, "no size is needed"


def test_a_rank_needs_the_inner_sizes_alone() -> None:
    assert global_rank({"pp": 1, "tp": 4}, {"pp": 2, "tp": 8}, frozenset({"tp", "pcp"})) == 12
    assert global_rank({"pp": 1, "tp": 4}, {"pp": 2, "tp": 5}, frozenset({"pp", "pcp"})) is None
    assert global_rank({"dp": 0, "pp": 0, "tp": 3}, {"tp": 4}, frozenset()) == 3


def test_pods_without_a_prefix_share_pids_but_not_processes() -> None:
    first = "".join(f"(Worker_TP{r} pid={300 + r % 4}) INFO 08-05 09:30:1{r} [gpu_model_runner.py:3198] Starting to load model k3...\n" for r in range(8))
    assert root_of(reading.verdict(first + crash(6, 30).replace("pid=306", "pid=302"))).rank == 6


@pytest.mark.parametrize(("path", "node"), [
    ("gx-7-dmesg.txt", "gx-7"), ("dmesg_gx-7.log", "gx-7"), ("gx-7.kern.log", "gx-7"), ("case/gx-7/dmesg.txt", "gx-7"), ("gx_7-journal.log", "gx_7"), ("dmesg.txt", None),
    ("logs/vllm.log", None), ("attempt_0/2/error.json", None), ("kimi-0-1.log", "kimi-0-1"),
])  # fmt: skip
def test_what_a_path_calls_its_node(path: str, node: str | None) -> None:
    assert own_name(path) == node


@pytest.mark.parametrize("file", ["gx-7-dmesg.txt", "gx-7/dmesg.txt", "dmesg.txt"])
def test_a_kernel_log_is_of_the_node_that_its_name_or_folder_says(file: str) -> None:
    line = "Aug 05 09:31:20 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n".replace("kernel:", "gx-7 kernel:")
    dmesg = line.replace("Aug 05 09:31:20 gx-7 kernel: ", "[Wed Aug  5 09:31:20 2026] ")
    log = start(4) + crash(2, 30, "RuntimeError: CUDA error: unspecified launch failure")
    root = root_of(reading.verdict({"gx-7/vllm.log" if "/" in file else "gx-7.log": log, file: dmesg}))
    assert (root.rank, root.signature, root.node) == (2, "XID079", "gx-7")


def test_files_of_torchruns_folders_are_of_their_local_rank_on_one_node() -> None:
    error = '{"message": {"message": "ValueError: zq", "extraInfo": {"py_callstack": "Traceback (most recent call last):\\n  File \\"t.py\\", line 3, in main\\n    run()\\nValueError: zq\\n", "timestamp": "1785922243"}}}\n'
    logs = {f"none_k2/attempt_0/{r}/stderr.log": f"epoch=1 step={r}\n" for r in range(4)} | {"none_k2/attempt_0/2/error.json": error}
    assert root_of(reading.verdict(logs)).rank == 2


def test_lines_alike_of_ranks_without_a_tag_are_all_read() -> None:
    words = [said(r, 8).replace(f"(Worker pid={300 + r}) ", "") for r in (5, 3, 2, 7, 1, 6, 4, 0)]
    assert sorted(f.rank for f in facts.read(reading.events("".join(words))) if f.kind == "world_size" and f.rank is not None) == list(range(8))
