"""Who printed a line: tags of every version, facts that tie pids to ranks, and evidence that contradicts itself."""

from __future__ import annotations

from collections import Counter

import pytest
import reading

from k3logs.identity.process import Process, Registry, global_rank, kind_of, parallel_of
from k3logs.identity.votes import elected


def record(tag: str, text: str = "Error: x", second: int = 0) -> str:
    return f"{tag} ERROR 08-05 09:30:{second:02d} [gpu_worker.py:7] {text}\n"


def world_size(pid: int, rank: int, world: int, local: int | None = None) -> str:
    local = rank if local is None else local
    return (f"(Worker pid={pid}) INFO 08-05 09:29:00 [parallel_state.py:1405] world_size={world} rank={rank} local_rank={local} "
            "distributed_init_method=tcp://10.0.0.1:29500 backend=nccl\n")  # fmt: skip


def nccl(host: str, pid: int, rank: int, nranks: int, device: int = 0) -> str:
    return (f"{host}:{pid}:{pid} [{device}] NCCL INFO ncclCommInitRank comm 0x5{pid} rank {rank} nranks {nranks} cudaDev {device} nvmlDev {device} busId 1b000 "
            "commId 0x71f0aa2b6c3d9e05 - Init START\n")  # fmt: skip


def ranks(logs: reading.Logs) -> dict[tuple[str | None, int | None], int | None]:
    """(node, pid) -> rank."""
    return {(p.node, p.pid): p.rank for p in reading.scene(logs).cast.processes if p.pid is not None}


# vllm-real-runs.md and vllm.md: what 0.8 to 0.33 print before a worker's lines.
@pytest.mark.parametrize(("tag", "kind", "rank"), [
    ("(VllmWorkerProcess pid=303)", "worker", None),
    ("(VllmWorker rank=3 pid=5079)", "worker", 3),
    ("(VllmWorker TP3 pid=302)", "worker", 3),
    ("(Worker_TP3 pid=412)", "worker", 3),
    ("(Worker_TP3_EP3 pid=412)", "worker", 3),
    ("(VllmWorker-3 pid=412)", "worker", 3),
    ("(Worker pid=428)", "worker", None),
    ("(EngineCore_0 pid=296)", "engine", None),
    ("(EngineCore_DP0 pid=296)", "engine", None),
    ("(EngineCore pid=296)", "engine", None),
    ("(APIServer pid=1)", "api", None),
    ("(ApiServer_3 pid=9)", "api", None),
    ("(RustFrontend pid=9)", "api", None),
    ("(RayWorkerWrapper pid=860)", "worker", None),
    ("(APIServer pid=32) (EngineCore_0 pid=296) (VllmWorker TP3 pid=302)", "worker", 3),
    ("\x1b[1;36m(VllmWorker rank=3 pid=5079)\x1b[0;0m", "worker", 3),
])  # fmt: skip
def test_the_tag_of_every_version_is_known(tag: str, kind: str, rank: int | None) -> None:
    (process,) = reading.scene(record(tag)).cast.processes
    assert (process.kind, process.rank) == (kind, rank)
    assert process.pid == int(tag.rpartition("pid=")[2].partition(")")[0])


# vllm/distributed/parallel_state.py: ExternalDP x DP x PP x PCP x TP.
@pytest.mark.parametrize(("tag", "sizes", "rank"), [
    ("Worker_PP1_TP3", {"pp": 2, "tp": 8}, 11), ("Worker_DP1_TP4_EP12", {"dp": 2, "tp": 8}, 12), ("Worker_DP1_PP0_TP3", {"dp": 2, "pp": 2, "tp": 4}, 11),
    ("Worker_DP1_PP0_PCP0_TP3_DCP0_EP11", {"dp": 2, "pp": 1, "pcp": 1, "tp": 8}, 11), ("Worker_TP5", {"tp": 8}, 5), ("Worker_PP1", {"pp": 2}, 1), ("Worker", {}, None),
])  # fmt: skip
def test_global_ranks_are_counted_as_vllm_counts(tag: str, sizes: dict[str, int], rank: int | None) -> None:
    assert global_rank(parallel_of(tag), sizes) == rank


def test_sizes_come_from_all_tags_of_the_deployment() -> None:
    lines = "".join(record(f"(Worker_PP{pp}_TP{tp} pid={100 + 10 * pp + tp})") for pp in range(2) for tp in range(4))
    assert ranks(lines)[None, 113] == 7


def test_a_worker_before_and_after_its_groups_is_one_process() -> None:
    scene = reading.scene(world_size(41, 0, 2) + world_size(42, 1, 2) + record("(Worker_TP1 pid=42)") + record("(Worker_TP0 pid=41)"))
    assert [(p.rank, p.name) for p in sorted(scene.cast.processes, key=lambda p: p.rank or 0)] == [(0, "Worker_TP0"), (1, "Worker_TP1")]
    assert scene.cast.world == 2


def test_one_pid_on_two_nodes_is_two_processes() -> None:
    logs = {"box-1.log": world_size(7, 0, 2, 0) + record("(Worker pid=7)"), "box-2.log": world_size(7, 1, 2, 0) + record("(Worker pid=7)")}
    assert ranks(logs) == {("box-1", 7): 0, ("box-2", 7): 1}


def test_one_pid_in_one_service_on_two_hosts_is_two_processes() -> None:
    lines = [world_size(7, 0, 2, 0) + record("(Worker pid=7)"), world_size(7, 1, 2, 0) + record("(Worker pid=7)")]
    logs = {f"box-{n + 1}.log": "".join(f"k3-1  | {line}\n" for line in text.splitlines()) for n, text in enumerate(lines)}
    assert ranks(logs) == {("box-1", 7): 0, ("box-2", 7): 1}


def test_a_rank_in_a_smaller_communicator_is_not_the_rank_in_the_world() -> None:
    world = "".join(nccl("box-1", 100 + r, r, 4, r) for r in range(4))
    expert = "".join(nccl("box-1", 100 + r, r // 2, 2, r) for r in range(4))
    assert ranks(world + expert) == {("box-1", 100 + r): r for r in range(4)}


def test_the_only_missing_rank_is_the_worker_without_one() -> None:
    lines = "".join(world_size(40 + r, r, 4) for r in (0, 1, 3)) + record("(Worker pid=42)")
    assert ranks(lines)[None, 42] == 2


def test_two_workers_without_a_rank_are_not_guessed() -> None:
    lines = "".join(world_size(40 + r, r, 4) for r in (0, 1)) + record("(Worker pid=42)") + record("(Worker pid=43)")
    found = ranks(lines)
    assert (found[None, 42], found[None, 43]) == (None, None)


def test_votes_that_contradict_themselves_join_nothing() -> None:
    conflicts: list[str] = []
    assert elected({"prefix": Counter({1: 5, 2: 5})}, conflicts, ("pid", "box-1", 7)) is None
    assert conflicts and "rank 1, 2" in conflicts[0]
    assert elected({"prefix": Counter({1: 5, 2: 5}), "world_size": Counter({2: 1})}, [], ("pid", "box-1", 7)) == 2
    assert elected({"prefix": Counter({1: 99, 2: 1}), "tag": Counter({0: 500})}, [], ("pid", "box-1", 7)) == 1






def test_a_worker_that_has_not_said_its_rank_is_not_the_one_that_has() -> None:
    assert ranks(world_size(8, 2, 4) + record("(Worker pid=42)")) == {(None, 8): 2, (None, 42): None}


def test_a_pid_that_says_two_ranks_is_nobodys_and_is_said() -> None:
    scene = reading.scene(world_size(7, 0, 4) + world_size(7, 1, 4).replace("09:29:00", "09:29:30") + world_size(8, 2, 4))
    assert {p.rank for p in scene.cast.processes if p.pid == 7} == {None}
    assert scene.cast.conflicts


def test_what_stands_in_lines_is_believed_before_a_files_name() -> None:
    found = reading.scene({"rank5.log": record("(VllmWorker rank=1 pid=71)"), "rank6.log": record("(VllmWorker rank=2 pid=72)")}).cast
    assert found.ranks == [1, 2]


def test_a_files_name_says_the_rank_where_its_lines_do_not() -> None:
    text = 'Traceback (most recent call last):\n  File "train.py", line 3, in f\nValueError: bad shard\n'
    scene = reading.scene({"rank0.log": text, "rank3.log": text})
    assert [scene.cast.of_event(e).rank for e in scene.events if e.chain] == [0, 3]  # type: ignore[union-attr]


SUMMARY = """Root Cause (first observed failure):
[0]:
  time      : 2026-08-05_09:30:02
  host      : box-1
  rank      : 3 (local_rank: 3)
  exitcode  : 1 (pid: 4121)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
"""


def test_a_launchers_table_ties_pid_and_rank() -> None:
    scene = reading.scene({"box-1.log": "box-1:4121:4121 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n" + SUMMARY, "box-2.log": record("(Worker_TP0 pid=9)")})
    process = scene.cast.of_pid(4121, "box-1")
    assert process is not None
    assert process.rank == 3


def test_torchs_prefix_is_the_global_rank_and_its_bracket_is_not() -> None:
    line = "[rank14]:[E805 09:30:00.123456789 ProcessGroupNCCL.cpp:616] [PG ID 2 PG GUID 3 Rank 6] Watchdog caught collective operation timeout\n"
    assert reading.scene(line).cast.ranks == [14]


def test_rays_address_tells_the_node() -> None:
    logs = record("(RayWorkerWrapper pid=320, ip=172.20.96.190)") + record("(RayWorkerWrapper pid=320, ip=172.20.96.191)")
    assert set(ranks(logs)) == {("172.20.96.190", 320), ("172.20.96.191", 320)}


def test_joining_is_transitive_and_separate_keys_stay_apart() -> None:
    registry = Registry()
    registry.join([("pid", "a", 1), ("rank", 0)])
    registry.join([("rank", 0), ("local", "a", 0)])
    registry.join([("pid", "b", 1)])
    assert registry.find(("pid", "a", 1)) == registry.find(("local", "a", 0)) != registry.find(("pid", "b", 1))
    assert sorted(map(len, registry.groups().values())) == [1, 3]


@pytest.mark.parametrize(("name", "kind"), [("TrainActor", "worker"), ("EngineCore_DP3", "engine"), ("DPCoordinator", "engine"), ("raylet", "launcher"), ("bash", "other"), (None, "other")])
def test_kinds(name: str | None, kind: str) -> None:
    assert kind_of(name) == kind


def test_a_process_is_called_by_the_best_that_is_known() -> None:
    assert Process(0, name="Worker_TP1", rank=1, pid=7).label == "rank 1 (Worker_TP1)"
    assert Process(0, pid=7).label == "pid 7"
