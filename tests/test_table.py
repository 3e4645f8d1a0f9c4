"""The event table: one row per line, typed, masked, and what triage knows beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import k3logs
import k3logs.read
from k3logs import schema

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
XID = CORPUS / "xid-79" / "logs"
reading, digest_ = sys.modules["k3logs.read"], sys.modules["k3logs.events.digest"]


def rows_of(tmp_path: Path, text: str | bytes, name: str = "node1.log") -> pl.DataFrame:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return k3logs.read([str(path)])


@pytest.fixture(scope="module")
def xid() -> pl.DataFrame:
    return k3logs.read([str(XID)])


@pytest.mark.parametrize("slug", ["xid-79", "dmabuf-524", "spmd-config"])
def test_one_row_a_line_in_the_schema(slug: str) -> None:
    folder = CORPUS / slug / "logs"
    table = k3logs.read([str(folder)])
    assert dict(table.schema) == schema.dtypes()
    for path in folder.iterdir():
        mine = table.filter(pl.col("source") == path.name)
        assert mine.filter(pl.col("part") == 0)["line"].to_list() == list(range(1, path.read_bytes().count(b"\n") + 1))
    assert table["message"].null_count() == 0
    assert table["record"].is_between(0, len(table)).all()


def test_who_printed_a_line(xid: pl.DataFrame) -> None:
    said = xid.filter(pl.col("message").str.contains(r"^world_size=16 rank=\d+ local_rank"))
    assert len(said) == 16
    for message, rank, node, process, source in said.select("message", "rank", "node", "process", "source").iter_rows():
        assert int(message.split("rank=")[1].split()[0]) == rank
        assert (node, process) == (source.removesuffix(".log"), "Worker")
    lagging = xid.filter((pl.col("rank") == 9) & (pl.col("process") != "Worker"))
    assert set(lagging["pid"]) == {2215}
    assert (set(lagging["pp"].drop_nulls()), set(lagging["tp"].drop_nulls())) == ({1}, {1})
    kernel = xid.filter(pl.col("dialect").cast(pl.String) == "kernel")
    assert set(kernel["node"]) == {"hgx-042"}
    assert set(xid["file"].drop_nulls().cast(pl.String)) > {"parallel_state.py", "core.py"}


def test_the_root_stands_in_the_table(xid: pl.DataFrame) -> None:
    root = k3logs.triage([str(XID)]).root_cause
    assert root is not None
    row = xid.filter((pl.col("source") == root.source) & (pl.col("line") == root.line)).row(0, named=True)
    assert (row["signature"], row["role"], row["phase"]) == (root.signature, "initiating", root.phase)
    low, high = (xid.filter((pl.col("source") == root.source) & (pl.col("line") == root.line))[n].cast(pl.Int64)[0] for n in ("time_low", "time_high"))
    assert abs(low - root.time_low) < 2000
    assert abs(high - root.time_high) < 2000


def test_an_exception_is_one_record_and_told_with_one_number() -> None:
    table = k3logs.read([str(CORPUS / "vllm-0.27.1-unknown-architecture" / "logs")])
    told = table.filter(pl.col("exception").is_not_null())
    assert told["record"].n_unique() >= told["exception"].n_unique() >= 1
    most = told.group_by("record").agg(pl.col("message").str.join("\n"), pl.len()).sort("len")["message"][-1]
    assert most.count("Traceback") >= 1
    assert "Error" in most.splitlines()[-1] or "Error" in most


@pytest.mark.parametrize("slug", sorted(p.name for p in CORPUS.iterdir() if (p / "incident.toml").exists()))
def test_times_are_those_of_the_first_reading(slug: str) -> None:
    from k3logs.events.gates import Gates
    from k3logs.events.record import Line
    from k3logs.grammar import bundle
    from k3logs.incidents import phase
    from k3logs.sources.find import find
    from k3logs.triage import digest_all, load_catalog, study

    folder = str(CORPUS / slug / "logs")
    catalog, grammars = load_catalog(), bundle.load(())
    digests = digest_all(find([folder], []), grammars, Gates(failure=catalog.gate_literals(), fact=phase.table().literals), [])
    scene = study(digests, grammars, catalog).scene
    table = k3logs.read([folder]).with_columns(pl.col("source").cast(pl.String), pl.col("time_low", "time_high").cast(pl.Int64))
    places = {(s, n, p): (low, high) for s, n, p, low, high in table.select("source", "line", "part", "time_low", "time_high").iter_rows()}
    for number, one in enumerate(digests):
        for row in one.rows.iter_rows(named=True):
            line = Line(row["line"], row["part"], row["header"], row["time"], row["envelope_time"], row["grain"], "", "", "", "", {})
            node = scene.cast.header_node.get((number, row["header"])) or scene.cast.source_node.get(number)
            wanted = scene.times.aligned(number, line, node)
            for mine, theirs in zip(places[one.source.name, abs(row["line"]), row["part"]], wanted, strict=True):
                assert mine is None if abs(theirs) == float("inf") else abs(mine - theirs * 1e9) < 5000


def test_small_chunks_give_the_same_table(xid: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_, "CHUNK", 4096)
    monkeypatch.setattr(digest_, "FIRST_CHUNK", 1024)
    frames = list(reading.iter_frames([str(XID)]))
    assert len(frames) > 10
    assert pl.concat(frames).equals(xid)


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_log_that_grows_meanwhile_is_read_up_to_where_it_was(tmp_path: Path, xid: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    path = tmp_path / "hgx-042.log"
    path.write_text((XID / path.name).read_text().rstrip("\n") + end)
    alone = k3logs.read([str(path)])
    study = reading.study

    def grow(*given: object) -> object:
        with path.open("a") as out:
            out.write("one more\nand one\n")
        return study(*given)

    monkeypatch.setattr(reading, "study", grow)
    assert pl.concat(reading.iter_frames([str(path)])).equals(alone)


def test_a_log_that_shrinks_meanwhile_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "node1.log"
    path.write_text("one\ntwo\n")
    study = reading.study
    monkeypatch.setattr(reading, "study", lambda *given: (path.write_text("one\n"), study(*given))[1])
    with pytest.raises(k3logs.K3LogsError, match="shorter"):
        list(reading.iter_frames([str(path)]))
    path.write_text("one\ntwo\n")
    assert k3logs.read([str(path)])["message"].to_list() == ["one", "two"]  # a table in memory has all of it by then


def test_long_lines_that_were_cut_keep_their_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["k3logs.sources.chunks"], "MAX_LINE", 1000)
    monkeypatch.setattr(digest_, "CHUNK", 600)
    monkeypatch.setattr(digest_, "FIRST_CHUNK", 600)
    table = rows_of(tmp_path, "first\n" + "ab" * 1500 + "\nlast one\n")
    assert "".join(table["message"]) == "first" + "ab" * 1500 + "last one"


def test_standard_input_gives_what_its_file_gives(tmp_path: Path) -> None:
    path = XID / "hgx-042.log"
    command = [sys.executable, "-m", "k3logs", "parse"]
    env = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NO_COLOR")}
    piped = subprocess.run(["bash", "-c", f"cat {path} | {' '.join(command)}"], env=env, capture_output=True, text=True, check=True).stdout
    with path.open("rb") as file:
        redirected = subprocess.run([*command, "-"], env=env, stdin=file, capture_output=True, text=True, check=True).stdout
    from_file = subprocess.run([*command, str(path)], env=env, capture_output=True, text=True, check=True).stdout
    assert piped == redirected
    names = ("source", "node")  # a pipe has no name that would tell
    lines = [[{k: v for k, v in json.loads(line).items() if k not in names} for line in text.splitlines()] for text in (piped, from_file)]
    assert lines[0] == lines[1]


def test_every_format_holds_the_same_rows(tmp_path: Path, xid: pl.DataFrame) -> None:
    read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "ndjson": pl.read_ndjson, "csv": pl.read_csv}
    for name, reader in read.items():
        out = tmp_path / f"events.{name}"
        subprocess.run([sys.executable, "-m", "k3logs", "parse", str(XID), "-o", str(out)], check=True)
        back = reader(out, infer_schema_length=None) if name in ("ndjson", "csv") else reader(out)  # type: ignore[operator]
        back = back.select(xid.columns) if name == "ndjson" else back  # its reader has an order of its own
        assert back.columns == xid.columns
        for column in ("source", "line", "rank", "pid", "signature", "role", "record"):
            assert back[column].cast(pl.String).equals(xid[column].cast(pl.String)), (name, column)
        if name != "csv":  # it cannot tell an empty text from none
            assert back["message"].to_list() == xid["message"].to_list()
    assert pl.read_parquet(tmp_path / "events.parquet")["time"].equals(xid["time"])


def test_secrets_are_masked(tmp_path: Path) -> None:
    token = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ012345"
    table = rows_of(tmp_path, f"INFO 08-05 09:30:01 [api_server.py:1272] token is {token}\nplain {token}\n")
    assert table["message"].to_list() == ["token is hf_***", "plain hf_***"]


def test_wrapped_lines_have_the_inner_message(tmp_path: Path) -> None:
    inner = "(EngineCore_DP0 pid=7) INFO 08-05 09:30:12 [core.py:104] Initializing \u00e9\n"
    text = json.dumps({"log": inner, "stream": "stderr", "time": "2026-08-05T09:30:12.5Z"}, separators=(",", ":")) + "\n"
    row = rows_of(tmp_path, text).row(0, named=True)
    assert (row["message"], row["process"], row["pid"], row["file"], row["file_line"], row["level"]) == ("Initializing \u00e9", "EngineCore_DP0", 7, "core.py", 104, "INFO")
    assert (row["time"].isoformat(), row["envelope_time"].isoformat()) == ("2026-08-05T09:30:12+00:00", "2026-08-05T09:30:12.500000+00:00")
    assert row["dialect"] == "vllm"
    assert row["form"].startswith("docker")


def test_where_a_time_comes_from(tmp_path: Path) -> None:
    table = rows_of(tmp_path, "before any stamp\nINFO 08-05 09:30:01 [a.py:1] one\nuntagged\n2026-08-05T09:30:02.000000001Z of the wrapper\n")
    assert table["time_origin"].to_list() == [None, "emitter", "inherited", "envelope"]
    assert table["time"][0] is None
    assert table["time"][1] == table["time"][2]
    assert table["time"].cast(pl.Int64)[3] % 1_000_000_000 == 1
    assert table["time_resolution"].to_list() == [None, 1_000_000_000, None, None]


def test_continuation_lines_share_their_record(tmp_path: Path) -> None:
    head = "INFO 08-05 09:30:01 [config.py:7] "
    table = rows_of(tmp_path, "".join(head + text + "\n" for text in ("settings = {", "  a: 1", "}", "other", "")) + "INFO 08-05 09:30:01 [b.py:1]   x\n")
    assert table["record"].to_list() == [0, 0, 0, 3, 3, 5]


@pytest.mark.parametrize("text", ["", "\n", "\r", "x", "\r\n\n", "\0\xff\n"])
def test_odd_logs(tmp_path: Path, text: str) -> None:
    table = rows_of(tmp_path, text.encode("latin-1"))
    assert dict(table.schema) == schema.dtypes()
    assert len(table) == (len(text.splitlines()) if text.strip("\r") else len(table))


def test_nothing_to_read_is_an_empty_frame(tmp_path: Path) -> None:
    assert k3logs.read([str(tmp_path)]).is_empty()
    assert rows_of(tmp_path, "").is_empty()
    assert dict(k3logs.read([str(tmp_path)]).schema) == schema.dtypes()


def test_a_progress_bar_is_many_parts(tmp_path: Path) -> None:
    table = rows_of(tmp_path, "Loading:  0%\rLoading: 50%\rLoading: 100%\nnext\n")
    assert table.select("line", "part").rows() == [(1, 0), (1, 1), (1, 2), (2, 0)]


def test_a_line_in_pieces_is_one_row(tmp_path: Path) -> None:
    stamp = "2026-08-05T09:30:0{}.000000001Z stderr {} {}\n"
    text = "".join(stamp.format(n, tag, say) for n, (tag, say) in enumerate([("F", "whole"), ("P", "first "), ("P", "second "), ("F", "third"), ("F", "after"), ("P", "open")]))
    table = rows_of(tmp_path, text).sort("line")
    assert table.select("line", "line_end", "message").rows() == [
        (1, None, "whole"), (2, 4, "first second third"), (5, None, "after"), (6, None, "open")]  # fmt: skip
    assert [t.second for t in table["time"]] == [0, 1, 4, 5]


def test_a_log_with_its_newest_line_first_keeps_its_numbers(tmp_path: Path) -> None:
    lines = (XID / "hgx-042.log").read_text().splitlines()
    forward = rows_of(tmp_path, "\n".join(lines) + "\n")
    table = rows_of(tmp_path, "\n".join(reversed(lines)) + "\n")
    assert table["line"].to_list() == list(range(len(lines), 0, -1))  # in the order in which they were printed
    same = [c for c in table.columns if c not in ("line", "time_low", "time_high")]
    assert table.select(same).equals(forward.select(same))


def test_a_fifo_is_read_once(tmp_path: Path, xid: pl.DataFrame) -> None:
    fifo = tmp_path / "hgx-042.log"
    os.mkfifo(fifo)
    writer = subprocess.Popen(["cp", str(XID / "hgx-042.log"), str(fifo)])
    table = k3logs.read([str(fifo)])
    assert writer.wait() == 0
    assert table["message"].to_list() == xid.filter(pl.col("source") == "hgx-042.log")["message"].to_list()
    assert set(table["source"]) == {str(fifo)}
