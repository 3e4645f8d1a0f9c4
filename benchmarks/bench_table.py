"""The event table of a big log, in memory and in files, against ripgrep counting thirty strings in it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from measure import K3LOGS, Figure, holds, in_turn, note, run, spent

IN_MEMORY, IN_A_FILE = 7.0, 9.0
READ = "import sys, k3logs; sys.stdout.write(str(k3logs.read(sys.argv[1:]).height))"

pytestmark = pytest.mark.skipif(find_spec("k3logs.read") is None, reason="there is no event table to measure")


def test_table_in_memory(benchmark: Any, log: Path, needles: list[str]) -> None:
    command = [sys.executable, "-c", READ, str(log)]
    assert int(run(command)) > 0
    _against(benchmark, "table in memory / rg", command, [*needles, str(log)], holds(IN_MEMORY, log))


@pytest.mark.parametrize("kind", ["parquet", "ndjson"])
def test_table_in_a_file(benchmark: Any, log: Path, needles: list[str], tmp_path: Path, kind: str) -> None:
    out = tmp_path / f"events.{kind}"
    _against(benchmark, f"table to {kind} / rg", [*K3LOGS, "parse", str(log), "-o", str(out)], [*needles, str(log)], holds(IN_A_FILE, log))
    note(benchmark, Figure(f"size of {kind} / log", out.stat().st_size / log.stat().st_size, "x"))


def _against(benchmark: Any, what: str, command: list[str], reference: list[str], most: float | None) -> None:
    ours, theirs = in_turn(benchmark, lambda: run(command), lambda: spent(reference))
    note(benchmark, Figure(what, ours / theirs, "x", most, details=f"{ours:.3f} and {theirs:.3f} CPU-s"))
