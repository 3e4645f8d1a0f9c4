"""The tree keeps its shape: imports go one way, patterns live in data, modules stay short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "k3logs").rglob("*.py"))
LONGEST = 300


def ruff(code: str, name: str) -> str:
    args = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", name, "-"]
    return subprocess.run(args, input=code, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_imports_go_one_way() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    if not program.is_file():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_pattern_in_code_is_a_lint_error() -> None:
    code = 'import re\n\nX = re.compile("x")\n'
    assert "re.compile" in ruff(code, "k3logs/events/extract.py")
    assert "re.compile" in ruff("from re import compile\n\ncompile\n", "k3logs/cli/triage.py")
    for name in ("k3logs/grammar/line.py", "k3logs/signatures/match.py", "k3logs/redact.py"):
        assert "TID251" not in ruff(code, name)


def test_no_module_grows_without_bound() -> None:
    sizes = {path.relative_to(ROOT).as_posix(): path.read_text().count("\n") for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > LONGEST} == {}
    assert sorted(sizes.values())[len(sizes) // 2] <= 130


def test_only_the_command_line_knows_click() -> None:
    knows = {path.relative_to(ROOT).as_posix() for path in MODULES if re.search(r"^\s*(?:import|from) click\b", path.read_text(), re.MULTILINE)}
    assert all(name.startswith("k3logs/cli/") or name == "k3logs/__main__.py" for name in knows)


def test_every_report_and_sink_is_listed_and_every_listed_one_is_there() -> None:
    from k3logs.cli import COMMANDS
    from k3logs.reports import REPORTS, renderer
    from k3logs.sinks import SINKS, sink

    assert all(renderer(name).extension for name in REPORTS)
    assert len({renderer(name).extension for name in REPORTS}) == len(REPORTS)
    assert all(sink(name).extension == name for name in SINKS)
    assert all((ROOT / "k3logs" / "cli" / f"{name}.py").is_file() for name in COMMANDS)
