"""Thousands of hosts and of failures cost no more than their number, nearly."""

from __future__ import annotations

import random
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from k3logs.clocks import align, solve
from k3logs.incidents.order import before, minimal

TIMES = st.sampled_from([float("-inf"), 0.0, 1.0, 1.5, 2.0, 3.0, 7.0, float("inf")])


@dataclass(frozen=True)
class Bounds:
    """Clocks of three nodes, two of which are tied."""

    slack: float

    def between(self, a: str | None, b: str | None) -> float:
        return 0.0 if a == b else self.slack if {a, b} == {"n1", "n2"} else float("inf")


def failure(source: int, process: int, node: str | None, low: float, width: float, line: int) -> Any:
    known = None if process < 0 else PROCESSES[process]
    return SimpleNamespace(event=SimpleNamespace(source=source, order=line), process=known, node=node, low=low, high=low + width, line=line)


PROCESSES = [object() for _ in range(3)]
FAILURES = st.lists(st.builds(failure, st.integers(0, 2), st.integers(-1, 2), st.sampled_from([None, "n1", "n2", "n3"]), TIMES, st.sampled_from([0.0, 0.5, 2.0]), st.integers(1, 4)), max_size=8)


@settings(max_examples=400)
@given(FAILURES, st.sampled_from([0.0, 0.5, 2.0]))
def test_the_first_are_those_that_nothing_is_before(failures: list[Any], slack: float) -> None:
    times: Any = Bounds(slack)
    wanted = [c for c in failures if not any(before(o, c, times) for o in failures if o is not c)]
    assert list(map(id, minimal(failures, times))) == list(map(id, wanted))


def test_many_failures_are_not_compared_pair_by_pair(monkeypatch: Any) -> None:
    asked = []
    monkeypatch.setattr("k3logs.incidents.order.before", lambda *given: asked.append(1) or before(*given))
    failures = [failure(n % 7, -1, "n1", float(n % 50), 1.0, n + 1) for n in range(3000)]
    found = minimal(failures, Bounds(0.0))  # type: ignore[arg-type]
    assert {one.low for one in found} == {0.0}
    assert len(asked) < 20_000


def test_clocks_of_very_many_nodes_are_bounded_and_never_wrongly() -> None:
    rng = random.Random(1)
    nodes = solve.MANY + 200
    true = [rng.uniform(-5, 5) for _ in range(nodes)]
    starts = {n: [(100 + true[n] - rng.random(), 100 + true[n])] for n in range(nodes)}
    ends = {n: [(101 + true[n], 101 + true[n] + rng.random())] for n in range(nodes)}
    constraints = align._constraints(starts, ends, "START before COMPLETE")
    assert len(constraints) < 5 * nodes
    found = solve.solve(nodes, constraints, align._simultaneous(ends, "COMPLETE"))
    assert not found.dropped
    assert np.isfinite(found.bounds).all()
    gaps = np.array(true)[None, :] - np.array(true)[:, None]
    assert (found.bounds >= gaps - 1e-9).all()
    assert np.median(found.bounds - gaps) < 8
