"""Logs as they come: packed, cut, damaged, in other codings, out of reach. What cannot be read is said, and all else is read."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import k3logs
from k3logs.errors import InputError

READY = b"(APIServer pid=1) INFO:     Application startup complete.\n(EngineCore_DP0 pid=9) INFO 08-05 12:00:01 [core.py:1] ready\n"
HEALTHY = READY + b"".join(b"(EngineCore_DP0 pid=9) INFO 08-05 12:00:01 [core.py:%d] step %d %s\n" % (n % 900, n, os.urandom(6).hex().encode()) for n in range(60_000))
FAILED = READY + b"(Worker_TP1 pid=7) ERROR 08-05 12:00:02 [a.py:9] Traceback (most recent call last):\n(Worker_TP1 pid=7) ERROR 08-05 12:00:02 [a.py:9] RuntimeError: boom at last\n"
PACK: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstandard.ZstdCompressor().compress}


def run(*args: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    return subprocess.run([sys.executable, "-m", "k3logs", *map(os.fspath, map(str, args))], capture_output=True, check=False, timeout=120, **given)  # type: ignore[call-overload,no-any-return]


def archive(kind: str, members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, data in members.items():
                packed.writestr(name, data)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    _, _, packing = kind.partition(".")
    return PACK[packing](out.getvalue()) if packing else out.getvalue()


@pytest.mark.parametrize("kind", PACK)
def test_a_cut_file_is_read_up_to_the_cut_and_is_no_proof_of_health(kind: str, tmp_path: Path) -> None:
    whole = PACK[kind](HEALTHY)
    (tmp_path / f"a.log.{kind}").write_bytes(whole)
    (tmp_path / f"b.log.{kind}").write_bytes(whole[: len(whole) * 2 // 3])
    assert k3logs.triage(tmp_path / f"a.log.{kind}").outcome == "no_failure"
    found = k3logs.triage([tmp_path / f"b.log.{kind}"])
    assert (found.outcome, found.exit_status, found.root_cause) == ("inconclusive", 3, None)
    assert 20_000 < found.coverage.lines < 60_000
    assert [notice for notice in found.coverage.notices if f"b.log.{kind}: cut short" in notice] != []
    assert "not all of it could be" in found.sentence
    assert found.to_json()["outcome"] == "inconclusive"


@pytest.mark.parametrize("kind", PACK)
def test_a_damaged_file_is_read_up_to_there(kind: str, tmp_path: Path) -> None:
    whole = bytearray(PACK[kind](HEALTHY))
    place = len(whole) * 2 // 3
    whole[place : place + 200] = bytes(200)
    (tmp_path / f"a.log.{kind}").write_bytes(whole)
    found = k3logs.triage(tmp_path / f"a.log.{kind}")
    assert (found.outcome, len(found.coverage.notices)) == ("inconclusive", 1)
    assert found.coverage.lines > 10_000


def test_a_failure_before_the_cut_is_still_the_failure(tmp_path: Path) -> None:
    whole = gzip.compress(FAILED + os.urandom(300_000))
    (tmp_path / "a.log.gz").write_bytes(whole[:200_000])
    found = k3logs.triage(tmp_path / "a.log.gz")
    assert (found.outcome, len(found.coverage.notices)) == ("failure", 1)


def test_compressed_parts_one_after_the_other_are_one_log(tmp_path: Path) -> None:
    for kind, pack in PACK.items():
        (tmp_path / "a.log").write_bytes(pack(READY) + pack(FAILED))
        assert k3logs.triage(tmp_path / "a.log").coverage.lines == 6, kind


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz", "tar.bz2", "tar.zst"])
def test_members_are_logs_packed_or_not(kind: str, tmp_path: Path) -> None:
    members = {"node1.log": FAILED, "node2.log": READY, **{f"node{n}.log.{name}": pack(READY) for n, (name, pack) in enumerate(PACK.items(), 3)},
               "node9.log": codecs.BOM_UTF16_LE + READY.decode().encode("utf-16-le")}  # fmt: skip
    (tmp_path / f"a.{kind}").write_bytes(archive(kind, members))
    found = k3logs.triage(tmp_path / f"a.{kind}")
    assert (found.outcome, found.coverage.lines, found.coverage.parsed_lines, found.coverage.sources, found.coverage.notices) == ("failure", 16, 16, 7, [])
    assert found.root_cause is not None
    assert found.root_cause.source == f"{tmp_path}/a.{kind}!node1.log"
    assert k3logs.read(tmp_path / f"a.{kind}").height == 16


def test_a_damaged_member_costs_only_itself(tmp_path: Path) -> None:
    data = bytearray(archive("zip", {"a.log": HEALTHY, "b.log": FAILED, "c.log": READY}))
    data[5_000:5_200] = bytes(200)
    (tmp_path / "a.zip").write_bytes(data)
    found = k3logs.triage(tmp_path / "a.zip")
    assert found.outcome == "failure"
    assert ["a.zip!a.log: damaged" in notice for notice in found.coverage.notices] == [True]
    out = run("parse", tmp_path / "a.zip")
    assert (out.returncode, b"a.zip!a.log: damaged" in out.stderr, b"boom at last" in out.stdout) == (0, True, True)


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz"])
def test_a_cut_archive_is_read_as_far_as_it_goes(kind: str, tmp_path: Path) -> None:
    data = archive(kind, {"a.log": READY, "b.log": HEALTHY, "c.log": READY})
    (tmp_path / f"a.{kind}").write_bytes(data[: len(data) // 2])
    found = k3logs.triage(tmp_path / f"a.{kind}")
    assert (found.outcome, found.exit_status) == ("inconclusive", 3)
    assert found.coverage.notices != []
    assert found.coverage.lines > 10_000


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.log.gz"])
def test_nothing_readable_is_an_error_for_parse_and_no_verdict_for_triage(name: str, tmp_path: Path) -> None:
    data = archive("zip", {"a.log": HEALTHY})[:20] if name == "a.zip" else b"garbage" * 50 if name == "a.tar" else gzip.compress(HEALTHY)[:30]
    (tmp_path / name).write_bytes(data)
    done = run("triage", tmp_path / name, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (3, "inconclusive"), done.stderr
    assert name in json.loads(done.stdout)["coverage"]["notices"][0]
    parsed = run("parse", tmp_path / name)
    assert (parsed.returncode, parsed.stdout, parsed.stderr.count(b"\n")) == (2, b"", 1)
    assert name.encode() in parsed.stderr


@pytest.mark.parametrize("mark, name", [
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"),
])  # fmt: skip
def test_a_byte_order_mark_tells_the_coding(mark: bytes, name: str, tmp_path: Path) -> None:
    text = FAILED.decode().replace("boom", "größe")
    data = mark + text.replace("\n", "\r\n").encode(name)
    (tmp_path / "a.log").write_bytes(data)
    (tmp_path / "b.log").write_text(text)
    assert k3logs.read(tmp_path / "a.log").drop("source").equals(k3logs.read(tmp_path / "b.log").drop("source"))
    piped = json.loads(run("triage", "--format", "json", stdin=data).stdout)
    assert piped["root_cause"]["message"] == "RuntimeError: größe at last"


@pytest.mark.parametrize("kind", [*PACK, "tar", "tar.gz", "zip"])
def test_what_comes_packed_through_a_pipe_is_unpacked(kind: str, tmp_path: Path) -> None:
    data = archive(kind, {"node1.log": FAILED, "node2.log": READY}) if kind not in PACK else PACK[kind](FAILED)
    (tmp_path / "x").write_bytes(data)
    for command in (f"cat {tmp_path}/x | {sys.executable} -m k3logs triage --format json", f"{sys.executable} -m k3logs triage --format json < {tmp_path}/x"):
        done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)
        assert done.returncode == 1, done.stderr
        assert json.loads(done.stdout)["root_cause"]["message"] == "RuntimeError: boom at last"


def test_what_cannot_be_opened_in_a_folder_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(READY)
    (tmp_path / "b.log").symlink_to(tmp_path / "gone")
    found = k3logs.triage(str(tmp_path))
    assert (found.outcome, found.coverage.notices) == ("inconclusive", ["b.log: not read (No such file or directory)"])
    (tmp_path / "c.log").write_bytes(FAILED)
    assert k3logs.triage(tmp_path).outcome == "failure"
    out = run("parse", tmp_path)
    assert (out.returncode, out.stderr) == (0, b"k3logs: b.log: not read (No such file or directory)\n")
    (tmp_path / "a.log").unlink()
    (tmp_path / "c.log").unlink()
    for command in ("triage", "parse"):
        done = run(command, tmp_path)
        assert (done.returncode, done.stdout) == (2, b""), done.stderr
        assert b"b.log: not read" in done.stderr


def test_a_folder_without_a_log_is_said(tmp_path: Path) -> None:
    done = run("triage", tmp_path, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["coverage"]["notices"]) == (3, [f"{tmp_path}: holds no log"])
    parsed = run("parse", tmp_path)
    assert (parsed.returncode, parsed.stdout, parsed.stderr.decode()) == (0, b"", f"k3logs: {tmp_path}: holds no log\n")


def test_one_path_is_as_good_as_a_list_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(FAILED)
    path = tmp_path / "a.log"
    assert {k3logs.triage(given).outcome for given in (str(path), path, [path], [str(path)])} == {"failure"}
    assert k3logs.read(str(path)).equals(k3logs.read([path]))
    with pytest.raises(InputError, match="no such file or folder: nothing"):
        k3logs.triage("nothing")


def test_a_name_that_is_not_utf_8_is_shown_with_escapes(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/n\xe4me.log"
    with open(name, "wb") as file:
        file.write(FAILED)
    found = json.loads(run("triage", "--format", "json", tmp_path).stdout)
    assert found["root_cause"]["source"] == "n\\xe4me.log"
    assert run("triage", tmp_path).returncode == 1
    for form in ("ndjson", "csv", "parquet"):
        assert run("parse", tmp_path, "--format", form).returncode == 0
    assert run("batch", tmp_path, "-o", tmp_path.parent / "out").returncode == 0
    missing = run("triage", os.fsdecode(name) + "x")
    assert (missing.returncode, b"no such file" in missing.stderr) == (2, True)
