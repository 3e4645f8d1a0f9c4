"""What `pip install` gives works anywhere: grammars, signatures and incidents come along, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("wheel")
    code = f"import os; from hatchling.build import build_wheel; print(build_wheel({str(out)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return out / done.stdout.split()[-1]


def test_the_wheel_holds_what_is_needed_and_no_more(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", "k3logs"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    assert [name for name in tracked if name not in names] == []
    for name in ("grammars/terminals.lark", "grammars/order.toml", "grammars/dialects/vllm.lark", "corpus/dmabuf-524/incident.toml"):
        assert f"k3logs/_bundled/{name}" in names
    assert any(name.startswith("k3logs/signatures/data/nccl/") for name in names)
    assert "k3logs/py.typed" in names
    assert not any(part in name for name in names for part in ("tests/", "__pycache__", ".venv", "benchmarks/"))
    assert wheel.stat().st_size < 4_000_000


def test_an_installed_wheel_works_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    site = next((venv / "lib").glob("python3*/site-packages"))
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", str(wheel)], check=True, capture_output=True, timeout=120)
    here = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{here}\n")  # the dependencies of this environment, without its copy of k3logs: site's own comes first
    bundled = site / "k3logs" / "_bundled"
    log = bundled / "corpus" / "dmabuf-524" / "logs"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "K3LOGS_CACHE": str(tmp_path / "cache")}

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([venv / "bin" / "k3logs", *args], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120)

    where = subprocess.run([venv / "bin" / "python", "-c", "import k3logs; print(k3logs.__file__)"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert where.stdout.startswith(str(site))
    done = run("triage", str(log))
    assert (done.returncode, done.stdout.startswith("Rank 11 ")) == (1, True), done.stderr
    assert "vllm" in run("grammars", "list").stdout
    assert "NCCL001" in run("signatures", "list").stdout
    assert run("corpus", "check", "dmabuf-524").returncode in (0, 1)
    assert (tmp_path / "cache").is_dir()


def test_continuous_integration_runs_what_the_readme_says() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "make test" in script
    assert "make test" in (ROOT / "README.md").read_text()
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"], check=False).returncode == 0


def test_the_makefile_knows_its_targets() -> None:
    for target in ("demo", "test", "bench", "accept", "clean"):
        assert subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=False).returncode == 0
