"""Many incidents: found, worked on by processes that may die, stored so that a run goes on where it was."""

from __future__ import annotations

import subprocess
import sys
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
