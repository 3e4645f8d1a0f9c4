"""CPU-seconds and peak memory of commands, and pairs of commands measured in turn.

CPU-seconds are user + system time of the child with all its threads. They move far less than wall time on a machine
that others use too, and a ratio of two measured in turn moves less still.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROUNDS = int(os.environ.get("K3LOGS_BENCH_ROUNDS", "5"))
FROM = 100.0  # MB of log from which limits on ratios to ripgrep hold: below, start-up is most of the work
BASELINE = [sys.executable, "-c", "pass"]
# The console script without the folder that it lies in; what a child's own peak is, is told to its standard error.
K3LOGS = [sys.executable, "-c", "import sys; from k3logs.__main__ import main; sys.exit(main())"]
_PEAK = """
import atexit, re, sys
def tell():
    kib = re.search(r"VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1]
    sys.stderr.write(f"\\npeak {kib}\\n")
atexit.register(tell)
from k3logs.__main__ import main
sys.exit(main())
"""


def holds(limit: float, log: Path) -> float | None:
    """The limit, or none where the log is too small for it."""
    return limit if log.stat().st_size >= FROM * 1e6 else None


@dataclass(frozen=True)
class Figure:
    """One row of the table: what was measured, and the most (or the least) that it should be."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False
    details: str = ""

    @property
    def kept(self) -> bool:
        """Whether the value is within the limit."""
        return self.limit is None or (self.value >= self.limit if self.at_least else self.value <= self.limit)


@dataclass(frozen=True)
class Known:
    """A log and the first failure in it, as far as it is known: speed counts only where the answer is right."""

    name: str
    path: Path
    rank: str = ""
    node: str = ""
    signature: str = ""
    message: str = ""

    def checked(self, verdict: bytes) -> dict[str, Any]:
        """The root cause in a verdict (JSON), which must be the known one."""
        cause: dict[str, Any] = json.loads(verdict)["root_cause"] or {}
        for name in ("rank", "node", "signature"):
            wanted = getattr(self, name)
            assert not wanted or str(cause.get(name)) == wanted, f"{self.path}: {name} {cause.get(name)}, not {wanted}"
        assert self.message in str(cause.get("message"))
        return cause


def cpu_of_children() -> float:
    """CPU-seconds of all ended children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: list[str], given: bytes | None = None) -> bytes:
    """Run to the end, ``given`` coming through a pipe; returns standard output. Raises CalledProcessError."""
    return subprocess.run(command, input=given, stdin=subprocess.DEVNULL if given is None else None, check=True, capture_output=True).stdout


def spent(command: list[str], given: bytes | None = None) -> float:
    """CPU-seconds of one run."""
    before = cpu_of_children()
    run(command, given)
    return cpu_of_children() - before


def peak(arguments: list[str]) -> float:
    """The most resident memory (MiB) that ``k3logs`` with these arguments ever had, as the kernel counts it since exec."""
    told = subprocess.run([sys.executable, "-c", _PEAK, *arguments], stdin=subprocess.DEVNULL, check=True, capture_output=True).stderr
    return int(told.rsplit(b"peak ", 1)[1]) / 1024


def in_turn(benchmark: Any, ours: Callable[[], object], reference: Callable[[], float], rounds: int = ROUNDS) -> tuple[float, float]:
    """Medians (CPU-seconds) of ours and of the reference, one run of each in turn, after one of ours that warms caches."""
    others: list[float] = []

    def before() -> None:
        others.append(reference())

    ours()
    benchmark.pedantic(ours, setup=before, rounds=rounds, iterations=1)
    return statistics.median(benchmark.stats.stats.data), statistics.median(others)


def note(benchmark: Any, *figures: Figure) -> None:
    """Keep figures for the table at the end and for ``--benchmark-json``."""
    benchmark.extra_info.setdefault("figures", []).extend(asdict(figure) for figure in figures)
