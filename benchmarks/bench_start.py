"""Start-up: the help text, and a small log through a pipe; `python -c pass` is the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import logs
from measure import BASELINE, K3LOGS, Figure, in_turn, note, run, spent

HELP, PIPE = 0.12, 0.7  # CPU-seconds
LINES = 10_000


def test_help(benchmark: Any) -> None:
    _start(benchmark, "k3logs --help", ["--help"], None, HELP)


def test_pipe_of_ten_thousand_lines(benchmark: Any, log: Path) -> None:
    _start(benchmark, f"{LINES} lines | k3logs triage -", ["triage", "--exit-zero", "-"], logs.head(log, LINES).read_bytes(), PIPE)


def _start(benchmark: Any, what: str, arguments: list[str], given: bytes | None, most: float) -> None:
    ours, bare = in_turn(benchmark, lambda: run([*K3LOGS, *arguments], given), lambda: spent(BASELINE))
    note(benchmark, Figure(what, ours, "s", most, details="CPU-s"), Figure(f"{what} / python -c pass", ours / bare, "x"))
