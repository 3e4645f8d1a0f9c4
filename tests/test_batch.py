"""Many incidents: found, worked on by processes that may die, stored so that a run goes on where it was."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import made
import made_batch
import polars as pl
import pytest

from k3logs.batch.incidents import incidents
from k3logs.batch.rows import COLUMNS, frame, of_error, of_verdict
from k3logs.batch.run import run
from k3logs.batch.store import Store
from k3logs.errors import InputError


def folder(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("hello\n")
    return root


def test_every_entry_is_an_incident(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", "b/logs/x.log", "a.log", "c.tar.gz", ".hidden", "out/verdict-00001.parquet", "old.parquet")
    found = incidents([root], root / "out")
    assert [i.name for i in found] == ["a.log", "b", "c.tar.gz"]
    before = found[1].key
    (root / "b/logs/y.log").write_text("more\n")
    assert incidents([root], root / "out")[1].key != before


def test_folders_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no incident"):
        incidents([folder(tmp_path)], tmp_path / "out")
    one, two = folder(tmp_path / "1/x", "a.log"), folder(tmp_path / "2/x", "a.log")
    with pytest.raises(InputError, match="two incidents are called x/a.log"):
        incidents([one, two], tmp_path / "out")


def test_a_row_has_every_column_and_no_secret(tmp_path: Path) -> None:
    (incident,) = incidents([folder(tmp_path, "a.log")], tmp_path / "out")
    table = frame([of_verdict(incident, made.verdict(), 0.5), of_verdict(incident, made.evil(), 0.5), of_error(incident, "token=abc refused", 0.1),
                   of_verdict(incident, made.verdict(outcome="no_failure", root_cause=None), 1.0)])  # fmt: skip
    assert table.columns == list(COLUMNS)
    assert table["outcome"].to_list() == ["failure", "failure", None, "no_failure"]
    assert table["rank"].to_list() == [3, 3, None, None]
    assert table["error"].to_list() == [None, None, "token=*** refused", None]
    assert "AbCdEfGh" not in str(table.to_dicts())


def test_a_dead_worker_costs_only_its_own_incident(tmp_path: Path) -> None:
    root = folder(tmp_path, "a.log", "b-die.log", "c.log", "d-fail.log", "e.log")
    rows = {row["incident"]: row for row in run(incidents([root], tmp_path / "out"), 2, made_batch.work)}
    assert sorted(rows) == ["a.log", "b-die.log", "c.log", "d-fail.log", "e.log"]
    assert "killed" in rows["b-die.log"]["error"]
    assert rows["d-fail.log"]["error"] == "password=*** not accepted"
    assert all(rows[name]["outcome"] == "failure" for name in ("a.log", "c.log", "e.log"))


def test_a_caller_who_has_enough_does_not_wait(tmp_path: Path) -> None:
    rows = run(incidents([folder(tmp_path, "a.log", "b-wait.log", "c-wait.log")], tmp_path / "out"), 2, made_batch.work)
    assert next(rows)["incident"] == "a.log"
    rows.close()  # type: ignore[attr-defined]


def test_results_go_on_where_they_were(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", "a.log", "b.log")
    a, b = incidents([root], tmp_path / "out")
    store = Store(tmp_path / "out")
    store.add([of_verdict(a, made.verdict(), 0.1)])
    store.add([of_error(b, "no", 0.1)])
    again = Store(tmp_path / "out")  # as after a kill: parts stay
    assert again.done() == {a.key}
    again.add([of_verdict(b, made.verdict(), 0.1)])
    again.close()
    assert [f.name for f in (tmp_path / "out").iterdir()] == ["verdict-00004.parquet"]
    table = pl.read_parquet(tmp_path / "out" / "verdict-*.parquet")
    assert table.select("incident", "error").rows() == [("a.log", None), ("b.log", None)]
    (root / "a.log").write_text("changed\n")
    assert incidents([root], tmp_path / "out")[0].key not in Store(tmp_path / "out").done()


def test_a_folder_with_other_files_of_these_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "verdict-1.parquet").write_text("no")
    with pytest.raises(InputError, match="not a table of verdicts"):
        Store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make folder"):
        Store(tmp_path / "file" / "out")


def test_command_end_to_end(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", "healthy/a.log")
    (root / "failed.log").write_text("Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nValueError: boom\n")
    args = [sys.executable, "-m", "k3logs", "batch", str(root), "-o", str(tmp_path / "out")]
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "2 incidents done, 0 errored" in done.stderr
    table = pl.read_parquet(tmp_path / "out" / "verdict-*.parquet")
    assert table["incident"].to_list() == ["failed.log", "healthy"]
    assert table["outcome"].to_list()[0] == "failure"
    again = subprocess.run(args, capture_output=True, text=True, check=False, timeout=60)
    assert "0 incidents done, 2 were done before" in again.stderr
    assert again.returncode == 0


def batch(root: Path, out: Path, **options: object) -> subprocess.CompletedProcess[str]:
    args = [sys.executable, "-m", "k3logs", "batch", str(root), "-o", str(out)]
    return subprocess.run(args, capture_output=True, text=True, check=False, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


def test_what_a_killed_run_left_is_cleared_and_the_rest_is_done(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", *(f"{n}.log" for n in range(3)))
    out = tmp_path / "out"
    assert batch(root, out).returncode == 0
    (out / ".verdict-00002.parquet.abc123.part").write_bytes(b"half")
    (out / ".mine.part").write_bytes(b"not ours")
    folder(tmp_path / "in", "3.log")
    again = batch(root, out)
    assert "1 incident done, 3 were done before" in again.stderr, again.stderr
    assert sorted(path.name for path in out.iterdir()) == [".mine.part", "verdict-00003.parquet"]
    assert pl.read_parquet(out / "verdict-*.parquet").height == 4


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_the_run_however_it_ends(kill: signal.Signals, tmp_path: Path) -> None:
    root = folder(tmp_path / "in", *(f"{n}-wait.log" for n in range(4)))
    code = f"""if __name__ == "__main__":
    import sys
    from pathlib import Path
    sys.path[:0] = [{str(Path(__file__).parent)!r}]
    import made_batch
    import k3logs.batch.run as run
    run.triage_one = made_batch.patient
    from k3logs.__main__ import main
    main(["batch", {str(root)!r}, "-o", {str(tmp_path / "out")!r}])
"""
    (tmp_path / "runs.py").write_text(code)
    process = subprocess.Popen([sys.executable, tmp_path / "runs.py"], stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)})
    deadline = time.monotonic() + 60
    while len(workers := _below(process.pid)) < 3 and time.monotonic() < deadline:  # two workers, and the tracker of their resources
        time.sleep(0.1)
    time.sleep(1.0)
    workers = _below(process.pid)
    process.send_signal(kill)
    process.wait(timeout=30)
    while any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [pid for pid in workers if Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes()] == []
    assert process.returncode == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[kill]


def _below(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_folder_called_as_a_result_is_said(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", "a.log")
    (tmp_path / "out" / "verdict-00001.parquet").mkdir(parents=True)
    done = batch(root, tmp_path / "out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "verdict-00001.parquet is a folder" in done.stderr


def test_a_full_disk_ends_a_batch_with_one_sentence(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", "a.log", "b.log")

    def tiny() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = batch(root, tmp_path / "out", preexec_fn=tiny, env=os.environ | {"K3LOGS_CACHE": str(tmp_path / "cache")})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []
    assert not list((tmp_path / "cache").glob(".*")) if (tmp_path / "cache").exists() else True
    assert batch(root, tmp_path / "out").returncode == 0
