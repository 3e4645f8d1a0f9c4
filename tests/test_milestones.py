"""How far each rank came: the one that lacks what all others passed lags, and its phase is its own."""

from __future__ import annotations

import reading
from test_decide import START, root_of, said

from k3logs.incidents.milestones import lagging

LOADED = "(Worker_TP{r} pid={pid}) INFO 08-05 09:30:40 [gpu_model_runner.py:3280] Model loading took 106.41 GiB memory and 40.5 seconds\n"
BEGINS = "(Worker_TP{r} pid={pid}) INFO 08-05 09:30:10 [gpu_model_runner.py:3198] Starting to load model /models/k3...\n"
GAVE_UP = ("(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/vllm/v1/engine/core_client.py\", line 600, in __init__\n"
           "(APIServer pid=1) TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight loading for large models.\n")  # fmt: skip


def up_to(loaded: set[int], world: int = 4) -> str:
    lines = [said(r, world) + BEGINS.format(r=r, pid=300 + r) for r in range(world)] + [LOADED.format(r=r, pid=300 + r) for r in sorted(loaded)]
    return START + "".join(lines)


def test_the_rank_that_lacks_a_milestone_of_all_others_is_waited_for() -> None:
    root = root_of(reading.verdict(up_to({0, 1, 3}) + GAVE_UP))
    assert (root.rank, root.phase, root.rule) == (2, "weight_load", "hang.lagging")
    assert root.confidence <= 0.7


def test_of_two_that_lack_it_none_is_named() -> None:
    assert root_of(reading.verdict(up_to({0, 1}) + GAVE_UP)).rank is None


def test_what_one_rank_prints_for_all_is_no_milestone() -> None:
    assert root_of(reading.verdict(up_to({0}) + GAVE_UP)).rank is None
    assert lagging({0: frozenset("ab"), 1: frozenset("a")}) is None, "of two ranks the first prints more"
    assert lagging({0: frozenset("ab"), 1: frozenset("a"), 2: frozenset("b")}) is None, "each lacks another one"


def test_a_start_that_just_ends_says_who_lags() -> None:
    answer = reading.verdict(up_to({0, 1, 3}))
    assert answer.outcome == "inconclusive"


def test_the_node_of_an_absent_rank_is_that_of_its_neighbours() -> None:
    waits = "(Worker pid=300) torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.\n"
    raised = "(Worker pid=300) Traceback (most recent call last):\n(Worker pid=300)   File \"/torch/distributed/distributed_c10d.py\", line 1764, in init_process_group\n"
    logs = {"gpu-01.log": START + "".join(said(r, 8) for r in range(4)) + raised + waits, "gpu-02.log": "".join(said(r, 8) for r in (4, 5, 7))}
    root = root_of(reading.verdict(logs))
    assert (root.rank, root.node) == (6, "gpu-02")
