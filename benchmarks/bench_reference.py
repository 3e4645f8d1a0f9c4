"""Drain3, which mines templates from log lines, on the same lines: what a reader of every line in Python costs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import logs
import pytest
from bench_table import READ
from measure import K3LOGS, Figure, holds, in_turn, note, run, spent

LEAST = 8.0
LINES = 500_000  # at most: fewer, and our start-up is measured instead
MINE = """
import sys
from drain3 import TemplateMiner
from drain3.template_miner_config import TemplateMinerConfig
miner = TemplateMiner(config=TemplateMinerConfig())
with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    for line in log:
        miner.add_log_message(line.rstrip())
"""
OURS = {"triage": [*K3LOGS, "triage", "--exit-zero"], "table in memory": [sys.executable, "-c", READ]}


@pytest.mark.skipif(find_spec("drain3") is None, reason="drain3 is not installed: pip install 'k3logs[bench]'")
@pytest.mark.parametrize("what", list(OURS))
def test_against_a_template_miner(benchmark: Any, log: Path, what: str) -> None:
    lines = str(logs.head(log, LINES))
    ours, theirs = in_turn(benchmark, lambda: run([*OURS[what], lines]), lambda: spent([sys.executable, "-c", MINE, lines]), rounds=1)
    note(benchmark, Figure(f"drain3 / {what}", theirs / ours, "x", holds(LEAST, log), at_least=True, details=f"{theirs:.3f} and {ours:.3f} CPU-s"))
