"""Triage of a big log against ripgrep counting thirty strings in it. Every run must give the right answer."""

from __future__ import annotations

import json
import sys
from typing import Any

from measure import K3LOGS, Figure, Known, holds, in_turn, note, run, spent

MOST = 5.0
TABLE = """
import json, sys, k3logs, polars as pl
root = k3logs.read(sys.argv[1:]).filter(pl.col("role").cast(pl.String) == "initiating")
print(json.dumps(root.select("line", pl.col("signature").cast(pl.String), "rank").rows()))
"""


def _command(known: Known) -> list[str]:
    return [*K3LOGS, "triage", "--exit-zero", "--format", "json", str(known.path)]


def test_triage_against_ripgrep(benchmark: Any, known: Known, needles: list[str]) -> None:
    size = known.path.stat().st_size / 1e6
    ours, theirs = in_turn(benchmark, lambda: known.checked(run(_command(known))), lambda: spent([*needles, str(known.path)]))
    details = f"{ours:.3f} and {theirs:.3f} CPU-s for {size:.0f} MB, start included"
    note(benchmark, Figure(f"triage / rg, {known.name}", ours / theirs, "x", holds(MOST, known.path), details=details))


def test_the_table_says_the_same(benchmark: Any, known: Known) -> None:
    """Triage and the event table come from one reading."""
    cause = known.checked(run(_command(known)))
    table = json.loads(benchmark.pedantic(run, ([sys.executable, "-c", TABLE, str(known.path)],), rounds=1, iterations=1))
    assert [cause["line"], cause["signature"]] in [row[:2] for row in table]
