"""Clocks: the solver's hard intervals hold the truth, and stamps say no more than they can."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
import reading
from hypothesis import given, settings
from hypothesis import strategies as st

from k3logs.clocks.solve import Before, Near, close, solve
from k3logs.events.stamps import NO_TIME, with_year

INF = float("inf")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[float], list[Before]]:
    """True offsets of some clocks, and what events in a true order show on them."""
    nodes = draw(st.integers(2, 6))
    offsets = [0.0, *(draw(st.floats(-7200, 7200)) for _ in range(nodes - 1))]
    before = []
    for _ in range(draw(st.integers(0, 20))):
        i, j = draw(st.integers(0, nodes - 1)), draw(st.integers(0, nodes - 1))
        start = draw(st.floats(0, 1000))
        delay, grain = draw(st.floats(0, 50)), draw(st.sampled_from([1e-6, 1e-3, 1.0]))
        low_a, high_b = start + offsets[i] - draw(st.floats(0, grain)), start + delay + offsets[j] + draw(st.floats(0, grain))
        before.append(Before(i, j, high_b - low_a, "event"))
    return offsets, before


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_the_hard_interval_holds_the_true_offset(world: tuple[list[float], list[Before]]) -> None:
    offsets, before = world
    found = solve(len(offsets), before, [])
    assert not found.dropped
    for true, one in zip(offsets, found.offsets, strict=True):
        assert one.low is None or one.low <= true + 1e-6
        assert one.high is None or one.high >= true - 1e-6
    for i, a in enumerate(offsets):
        for j, b in enumerate(offsets):
            assert b - a <= found.bounds[i, j] + 1e-6


@settings(max_examples=100, deadline=None)
@given(worlds(), st.floats(-1e5, 1e5))
def test_an_estimate_stays_inside_the_hard_interval(world: tuple[list[float], list[Before]], wild: float) -> None:
    offsets, before = world
    for one in solve(len(offsets), before, [Near(0, n, wild, "exit") for n in range(1, len(offsets))]).offsets:
        assert one.offset is not None
        assert (one.low is None or one.low <= one.offset) and (one.high is None or one.offset <= one.high)


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_closure_is_tight_and_final(world: tuple[list[float], list[Before]]) -> None:
    offsets, before = world
    bounds = solve(len(offsets), before, []).bounds
    assert np.array_equal(close(bounds), bounds) or np.allclose(np.nan_to_num(close(bounds), posinf=1e18), np.nan_to_num(bounds, posinf=1e18), rtol=0, atol=1e-6)
    for k in range(len(bounds)):
        assert np.all(bounds <= bounds[:, k, None] + bounds[None, k, :] + 1e-6)


def test_bounds_go_through_a_third_node() -> None:
    found = solve(3, [Before(0, 1, 2.0, "a"), Before(1, 2, 3.0, "b"), Before(2, 0, 1.0, "c")], [])
    assert (found.offsets[2].low, found.offsets[2].high) == (-1.0, 5.0)
    assert found.bounds[0, 2] == 5.0


def test_a_contradiction_costs_the_least_trusted_constraint_and_is_said() -> None:
    sure = [Before(0, 1, 1.0, "init", trust=3), Before(1, 0, 0.5, "init", trust=3)]
    wrong = Before(0, 1, -40.0, "guess", trust=1)
    found = solve(2, [*sure, wrong], [])
    assert found.dropped == [wrong]
    assert (found.offsets[1].low, found.offsets[1].high) == (-0.5, 1.0)


def test_a_clock_that_stepped_does_not_take_other_clocks_with_it() -> None:
    fine = [Before(0, 1, 5.2, "x"), Before(1, 0, -5.0, "x")]
    stepped = [Before(0, 2, 10.0, "x"), Before(2, 0, -9.9, "x"), Before(0, 2, -20.0, "x")]
    found = solve(3, [*fine, *stepped], [])
    assert (found.offsets[1].low, found.offsets[1].high) == (5.0, 5.2)
    assert found.dropped


def test_a_node_that_nothing_ties_has_no_offset() -> None:
    one = solve(3, [Before(0, 1, 1.0, "x")], []).offsets[2]
    assert (one.offset, one.low, one.high, one.anchors) == (None, None, None, 0)


def test_certainly_before_needs_every_possible_offset() -> None:
    found = solve(2, [Before(0, 1, 10.0, "x"), Before(1, 0, -9.0, "x")], [])  # node 1 is 9 to 10 s ahead
    assert found.certainly_before(0, 100.0, 1, 110.5)
    assert not found.certainly_before(0, 100.0, 1, 109.5)
    assert found.certainly_before(1, 100.0, 0, 91.5)
    assert not found.certainly_before(1, 100.0, 0, 90.5)


# Stamps.


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


def yearless(text: str) -> int:
    return at(f"2000-{text}")


@pytest.mark.parametrize(("stamp", "reference", "year"), [
    ("12-31 23:59:59", "2027-01-01 00:00:05", 2026), ("01-01 00:00:02", "2026-12-31 23:59:58", 2027), ("01-01 00:00:02", "2027-01-01 00:00:05", 2027),
    ("08-05 09:30:00", "2026-08-05 12:00:00", 2026), ("02-29 10:00:00", "2028-03-01 00:00:00", 2028),
])  # fmt: skip
def test_a_stamp_without_a_year_goes_to_the_nearest(stamp: str, reference: str, year: int) -> None:
    (moved,) = with_year(np.array([yearless(stamp)]), at(reference)).tolist()
    assert moved == at(f"{year}-{stamp}")


def test_a_missing_stamp_stays_missing() -> None:
    assert with_year(np.array([NO_TIME, yearless("08-05 09:30:00")]), at("2026-08-05 12:00:00")).tolist()[0] == NO_TIME


@settings(max_examples=100, deadline=None)
@given(st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)), st.integers(-170, 170))
def test_a_stamp_is_put_within_half_a_year_of_the_reference(time: datetime, days: int) -> None:
    whole = time.replace(microsecond=0)
    if (whole.month, whole.day) == (2, 29):
        return
    reference = at(whole.isoformat()) + days * 86_400 * 10**9
    (moved,) = with_year(np.array([yearless(f"{whole:%m-%d %H:%M:%S}")]), reference).tolist()
    assert moved == at(whole.isoformat())


def interval(logs: reading.Logs, line: int = 1, hard: bool = False) -> tuple[float, float]:
    """Seconds since 2026-08-05T09:00:00Z."""
    scene = reading.scene(logs)
    found = next(e.first for e in scene.events if e.first.number == line)
    low, high = scene.times.hard(0, found) if hard else scene.times.own(0, found)
    base = at("2026-08-05 09:00:00") * 1e-9
    return round(low - base, 6), round(high - base, 6)


VLLM = "ERROR 08-05 09:00:07 [core.py:1] EngineCore failed to start."


def test_a_whole_second_means_any_moment_of_it() -> None:
    assert interval(VLLM + "\n") == (7.0, 8.0)


def test_a_readers_stamp_bounds_from_above_only() -> None:
    late = "2026-08-05T09:00:10.500000000Z fatal error: exited with code 1\n"
    low, high = interval(late, hard=True)
    assert (low, high) == (-INF, 10.5)
    assert interval(f"2026-08-05T09:00:07.250000000Z {VLLM}\n", hard=True) == (7.0, 7.25)
    assert interval(f"2026-08-05T09:05:00.000000000Z {VLLM}\n", hard=True) == (7.0, 8.0)


def test_c10_fractions_are_another_clocks() -> None:
    low, high = interval("[rank3]:[E805 09:00:07.983467123 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout\n")
    assert (low, high) == (7.0, 8.0)


@pytest.mark.parametrize(("zone", "hours"), [("+02:00", 2.0), ("-07:00", -7.0), ("+05:45", 5.75), ("+00:00", 0.0)])
def test_the_zone_of_an_emitter_is_read_from_the_wrapper_to_the_quarter_hour(zone: str, hours: float) -> None:
    lines = ""
    for second in range(0, 50, 5):
        local = datetime.fromtimestamp(at("2026-08-05 09:00:00") / 1e9 + second, UTC).timestamp() + hours * 3600
        lines += f"2026-08-05T09:00:{second:02d}.300000000Z ERROR {datetime.fromtimestamp(local, UTC):%m-%d %H:%M:%S} [core.py:1] failed attempt {second}\n"
    (clock,) = reading.scene(lines).times.clocks
    assert clock.zone_known
    assert clock.zone == hours * 3600
    assert interval(lines)[0] == 0.0


def test_without_a_wrapper_no_zone_is_known() -> None:
    (clock,) = reading.scene(VLLM + "\n").times.clocks
    assert (clock.zone_known, clock.basis) == (False, "assumed")


def test_a_line_without_a_stamp_lies_between_its_neighbours() -> None:
    low, high = interval(f"{VLLM}\nfatal error: exited with code 1\n{VLLM.replace('09:00:07', '09:00:09')}\n", line=2)
    assert (low, high) == (7.0, 10.0)


def init(host: str, second: float, rank: int, step: str, nranks: int = 2) -> str:
    return (f"2026-08-05T09:00:{second:012.9f}Z [2026-08-05 09:00:{int(second):02d}] {host}:10{rank}:10{rank} [0] NCCL INFO ncclCommInitRank comm 0x5{rank} rank {rank} "
            f"nranks {nranks} cudaDev 0 nvmlDev 0 busId 1b000 commId 0x8b1f2ce95d37a604 - Init {step}\n")  # fmt: skip


def test_nccl_init_ties_the_clocks_of_two_nodes() -> None:
    ahead = 30.0
    logs = {"box-1.log": init("box-1", 4.2, 0, "START") + init("box-1", 6.4, 0, "COMPLETE"),
            "box-2.log": init("box-2", 4.9 + ahead, 1, "START") + init("box-2", 6.4 + ahead, 1, "COMPLETE")}  # fmt: skip
    scene = reading.scene(logs)
    assert scene.times.solution is not None
    one = scene.times.solution.offsets[scene.times.node_number["box-2"]]
    assert one.low is not None and one.high is not None and one.offset is not None
    assert one.low <= ahead <= one.high
    assert one.high - one.low < 8
    assert abs(one.offset - ahead) < 1.5


def test_different_communicators_tie_nothing() -> None:
    logs = {"box-1.log": init("box-1", 4.2, 0, "START") + init("box-1", 6.4, 0, "COMPLETE"),
            "box-2.log": (init("box-2", 14.2, 1, "START") + init("box-2", 16.4, 1, "COMPLETE")).replace("0x8b1f", "0x77aa")}  # fmt: skip
    solution = reading.scene(logs).times.solution
    assert solution is not None
    assert solution.offsets[1].low is None
