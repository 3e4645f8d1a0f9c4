"""Every format of the event table holds all frames; every file appears whole or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path

import polars as pl
import pytest

from k3logs.errors import InputError
from k3logs.sinks import SINKS, sink
from k3logs.sinks.atomic import replacing

FRAMES = [
    pl.DataFrame({"source": pl.Series(["a", "b"], dtype=pl.Categorical), "time": pl.Series([1, None], dtype=pl.Datetime("ns", "UTC")), "ranks": [[1, 2], []],
                  "message": ["x", 'say "hi", ö\n']}),
    pl.DataFrame({"source": pl.Series(["c"], dtype=pl.Categorical), "time": pl.Series([2], dtype=pl.Datetime("ns", "UTC")), "ranks": [[3]], "message": [None]},
                 schema_overrides={"message": pl.String}),
]  # fmt: skip


@pytest.mark.parametrize("name", SINKS)
def test_every_sink_writes_all_frames(name: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    assert sink(name).write(iter(FRAMES), out) == 3
    out.seek(0)
    read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "ndjson": pl.read_ndjson, "csv": pl.read_csv}[name](out)  # type: ignore[operator]
    assert read["source"].cast(pl.String).to_list() == ["a", "b", "c"]
    assert read["message"].to_list() == ["x", 'say "hi", ö\n', None]
    assert [str(v).replace("T", " ")[:10] if v else None for v in read["time"].to_list()] == ["1970-01-01", None, "1970-01-01"]
    assert [str(list(v) if not isinstance(v, str) else v).replace(" ", "") for v in read["ranks"].to_list()] == ["[1,2]", "[]", "[3]"]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    target.chmod(0o640)
    with pytest.raises(RuntimeError), replacing(target) as out:
        out.write(b"half")
        raise RuntimeError
    assert target.read_text() == "old"
    link = tmp_path / "link"
    link.symlink_to(target)
    with replacing(link) as out:
        out.write(b"new")
    assert (target.read_text(), link.is_symlink(), target.stat().st_mode & 0o777) == ("new", True, 0o640)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "link"]
    with replacing(os.devnull) as out:
        out.write(b"gone")
    assert not Path(os.devnull).is_file()
    for bad in (tmp_path, tmp_path / "none" / "x"):
        with pytest.raises(InputError, match="cannot write"), replacing(bad):
            pass
