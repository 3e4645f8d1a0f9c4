"""Logs for the benchmarks, and the table of figures at the end. Timers count CPU-seconds of children, not wall time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import logs
import measure
import mixed
import pytest
from measure import Known

_figures: list[measure.Figure] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--enforce", action="store_true", help="fail where a figure is past its limit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.benchmark(timer=measure.cpu_of_children, group=item.path.stem.removeprefix("bench_")))


@pytest.fixture(scope="session", autouse=True)
def _warm(request: pytest.FixtureRequest) -> None:
    """Compiled grammars in a cache of the benchmarks' own, filled before anything is measured."""
    os.environ["K3LOGS_CACHE"] = str(logs.folder() / "cache")
    measure.run([*measure.K3LOGS, "triage", "--exit-zero", "-"], b"\n")


@pytest.fixture(scope="session")
def megabytes() -> int:
    """Size of the log in MB (10^6 bytes)."""
    return int(os.environ.get("K3LOGS_BENCH_MB", "20"))


@pytest.fixture(scope="session")
def log(megabytes: int) -> Path:
    """The log that most benchmarks read; ``K3LOGS_BENCH_LOG`` names another one."""
    given = os.environ.get("K3LOGS_BENCH_LOG")
    return Path(given) if given else logs.big(megabytes)


@pytest.fixture(params=["serving", "mixed"])
def known(request: pytest.FixtureRequest, megabytes: int) -> Known:
    """A log with what is to be found in it; of ``K3LOGS_BENCH_LOG`` that is what ``K3LOGS_BENCH_CAUSE`` says: rank, node and signature."""
    if given := os.environ.get("K3LOGS_BENCH_LOG"):
        if request.param != "serving":
            pytest.skip("K3LOGS_BENCH_LOG names a log")
        rank, node, signature = (os.environ.get("K3LOGS_BENCH_CAUSE", "").split() + [""] * 3)[:3]
        return Known(Path(given).stem, Path(given), rank, node, signature)
    if request.param == "serving":
        return Known("serving", logs.big(megabytes), str(logs.CULPRIT), "", "", logs.CAUSE)
    return Known("mixed", logs.big(megabytes, "mixed"), str(mixed.CULPRIT), mixed.NODE, mixed.SIGNATURE)


@pytest.fixture(scope="session")
def needles(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The yardstick: ripgrep counting the lines of a log that hold any of thirty strings; the log's name comes last."""
    program = shutil.which("rg")
    if program is None:
        pytest.skip("ripgrep (rg) is not installed, and it is what triage is measured against")
    listed = tmp_path_factory.mktemp("rg") / "needles.txt"
    listed.write_text("\n".join(logs.NEEDLES) + "\n")
    return [program, "--no-config", "-a", "-c", "-F", "-f", str(listed)]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    benchmark: Any = getattr(item, "funcargs", {}).get("benchmark")
    if benchmark is not None:
        _figures.extend(measure.Figure(**figure) for figure in benchmark.extra_info.get("figures", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("enforce") and not all(figure.kept for figure in _figures):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _figures:
        return
    width = max(len(figure.what) for figure in _figures)
    terminalreporter.section("figures and their limits")
    for figure in _figures:
        bound = "" if figure.limit is None else f"{'>=' if figure.at_least else '<='} {figure.limit:g} {figure.unit}"
        verdict = "" if figure.limit is None else "kept" if figure.kept else "MISSED"
        terminalreporter.write_line(f"{figure.what:<{width}}  {figure.value:9.3f} {figure.unit:<4} {bound:>12}  {verdict:<6}  {figure.details}".rstrip())
