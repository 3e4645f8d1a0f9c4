"""Peak memory of triage: it must not grow with the log."""

from __future__ import annotations

from typing import Any

import logs
from measure import Figure, note, peak

GROWTH, MOST = 1.15, 256.0  # 15 % is what the allocator's arenas move by from run to run; MiB


def test_memory_does_not_grow_with_the_log(benchmark: Any, megabytes: int) -> None:
    small, large = ["triage", "--exit-zero", str(logs.big(megabytes))], ["triage", "--exit-zero", str(logs.big(4 * megabytes))]
    little = peak(small)
    much = benchmark.pedantic(peak, (large,), rounds=1, iterations=1)
    note(
        benchmark,
        Figure(f"peak memory, {4 * megabytes} MB / {megabytes} MB", much / little, "x", GROWTH),
        Figure(f"peak memory, {megabytes} MB", little, "MiB", MOST),
        Figure(f"peak memory, {4 * megabytes} MB", much, "MiB", MOST),
    )
