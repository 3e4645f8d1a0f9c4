"""Two records in one line: the second is read, unless it is only quoted."""

from __future__ import annotations

import pytest
import reading
from test_decide import crash, root_of, start

BAR = "Capturing CUDA graphs:  52%|█████▏    | 35/67 [00:11<00:10,  3.05it/s]"
NCCL = "n1:301:401 [1] transport/net_ib/common.cc:214 NCCL WARN NET/IB : mlx5_1:1 Got async event : port error\n"


def glue(before: str, log: str, line: int) -> str:
    lines = log.splitlines()
    lines[line] = before + lines[line]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("before", [BAR, "    ^^^^^^^^^^", "(Worker_TP0 pid=300) INFO 08-05 09:31:29 [x.py:1] Loading"])
def test_a_record_behind_the_rest_of_another_is_read(before: str) -> None:
    failed = crash(2, 30)
    for line in range(len(failed.splitlines())):
        root = root_of(reading.verdict(start(4) + glue(before, failed, line)))
        assert (root.rank, root.message) == (2, "RuntimeError: zq is broken"), line


def test_a_warning_of_nccl_behind_a_progress_bar_keeps_its_process() -> None:
    root = root_of(reading.verdict(start(4) + BAR + NCCL))
    assert (root.rank, root.node) == (1, "n1")


def test_a_quoted_record_is_none() -> None:
    quote = "(APIServer pid=1) INFO 08-05 09:31:00 [logger.py:40] Received request cmpl-1: prompt: '" + crash(2, 30).splitlines()[-1] + "'\n"
    assert reading.verdict(start(4) + "(APIServer pid=1) INFO:     Application startup complete.\n" + quote).outcome == "no_failure"
