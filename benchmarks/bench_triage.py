"""Triage of a big log against ripgrep counting thirty strings in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import logs
from measure import K3LOGS, Figure, holds, in_turn, note, run, spent

MOST = 5.0


def test_triage_against_ripgrep(benchmark: Any, log: Path, needles: list[str]) -> None:
    size = log.stat().st_size / 1e6
    command = [*K3LOGS, "triage", "--exit-zero", str(log)]
    ours, theirs = in_turn(benchmark, lambda: run(command), lambda: spent([*needles, str(log)]))
    note(benchmark, Figure("triage / rg", ours / theirs, "x", holds(MOST, log), details=f"{ours:.3f} and {theirs:.3f} CPU-s for {size:.0f} MB, start included"))


def test_the_verdict_is_right(benchmark: Any, megabytes: int) -> None:
    """Speed counts only where the answer does."""
    command = [*K3LOGS, "triage", "--exit-zero", "--format", "json", str(logs.big(megabytes))]
    cause = json.loads(benchmark.pedantic(run, (command,), rounds=1, iterations=1))["root_cause"]
    assert cause["rank"] == logs.CULPRIT
    assert logs.CAUSE in cause["message"]
