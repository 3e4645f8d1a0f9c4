"""The command line as its users meet it: a process, its exit status, and what stands on which stream."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / "corpus" / "dmabuf-524" / "logs"
HEALTHY = ROOT / "corpus" / "healthy" / "vllm-0.14.1-tp2" / "logs"
TRACEBACK = b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: boom\n'
HAS_READ = (ROOT / "k3logs" / "read.py").exists()


def k3logs(*args: object, stdin: bytes | None = None, env: dict[str, str] | None = None, terminal: int | None = None) -> subprocess.CompletedProcess[bytes]:
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    options: dict[str, object] = {"capture_output": True, "timeout": 120, "check": False, "cwd": ROOT, "env": plain | (env or {})}
    options |= {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL if terminal is None else terminal}
    return subprocess.run([sys.executable, "-m", "k3logs", *map(str, args)], **options)  # type: ignore[call-overload,no-any-return]


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", command.replace("k3logs ", f"{sys.executable} -m k3logs ", 1)], cwd=ROOT, capture_output=True, timeout=120, check=False)


def refused(done: subprocess.CompletedProcess[bytes], *words: str) -> None:
    """Exit 2, nothing on standard output, one line on standard error that holds these words."""
    error = (done.stderr or b"").decode()
    assert done.returncode == 2, error
    assert not done.stdout
    assert error.count("\n") == 1, error
    assert error.startswith("k3logs: ")
    for word in words:
        assert word in error, error


# What it costs to start.


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_start_is_cheap(option: str) -> None:
    def cost() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert k3logs(option).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cost() for _ in range(5)) <= 0.12


@pytest.mark.parametrize("args", [["--help"], ["triage", "--help"], ["parse", "--help"], ["batch", "--help"], ["triage", "nothing-there"]])
def test_nothing_heavy_is_imported_before_it_is_needed(args: list[str]) -> None:
    heavy = "{'polars', 'pyarrow', 'numpy', 'lark', 'rapidfuzz', 'pandas'}"
    if args == ["triage", "nothing-there"]:
        pytest.skip("triage imports the engine first")
    code = f"import sys; from k3logs.__main__ import run; run({args!r}); print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_the_package_costs_nothing_and_its_names_stay_functions() -> None:
    code = "import sys, k3logs; assert not {'polars', 'click', 'k3logs.triage'} & set(sys.modules); import k3logs.triage; print(type(k3logs.triage).__name__, k3logs.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("function ")
    assert f"k3logs {done.stdout.split()[1]}\n".encode() == k3logs("--version").stdout


# Exit status and streams.


def test_a_failure_is_1_and_a_healthy_log_0() -> None:
    failed, healthy = k3logs("triage", FAILED), k3logs("triage", HEALTHY)
    assert (failed.returncode, healthy.returncode) == (1, 0), failed.stderr + healthy.stderr
    assert failed.stdout.decode().splitlines()[0].startswith("Rank 11 ")
    assert failed.stderr == healthy.stderr == b""
    assert k3logs("triage", FAILED, "--exit-zero").returncode == 0


def test_json_keeps_the_contract() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = json.loads(k3logs("triage", FAILED, "--format", "json").stdout)
    jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "verdict.schema.json").read_text())).validate(found)
    assert found["root_cause"]["rank"] == 11


def test_a_pipe_reads_as_a_file_does() -> None:
    log = next(FAILED.glob("*21.log"))
    piped, named = k3logs("triage", "--format", "json", stdin=log.read_bytes()), k3logs("triage", "--format", "json", log)
    one, two = json.loads(piped.stdout), json.loads(named.stdout)
    for field in ("rank", "line", "message", "phase", "category", "fingerprint"):
        assert one["root_cause"][field] == two["root_cause"][field]
    assert k3logs("triage", "-", stdin=log.read_bytes()).returncode == 1


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"\x7fELF\x00\x01" * 1000, bytes(range(256)) * 50, b"a line that nobody knows\n" * 5, b"\xff\xfe" + "x".encode("utf-16-le") * 100]
)
def test_what_nobody_knows_is_inconclusive(data: bytes) -> None:
    done = k3logs("triage", "--format", "json", stdin=data)
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert (found["outcome"], found["root_cause"]) == ("inconclusive", None)
    assert k3logs("triage", "--exit-zero", stdin=data).returncode == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["triage", "nothing-there"], ["no such file", "nothing-there"]),
        (["triage", "--format", "xml", "README.md"], ["xml", "'text'", "--help"]),
        (["triage", "--nothing"], ["--nothing", "--help"]),
        (["triag"], ["No such command 'triag'", "Did you mean 'triage'?", "--help"]),
        (["xyz"], ["No such command 'xyz'", "There are triage, parse"]),
        (["triage", "--formt", "json"], ["--formt", "Did you mean '--format'?"]),
        (["signatures", "lst"], ["lst", "--help"]),
        (["triage", "README.md", "-o", "x.xyz"], ["no format is written to .xyz files", ".txt, .json, .md", "--format"]),
        (["parse", "README.md", "-o", "x.json"], ["no format is written to .json files", ".parquet, .arrow, .ndjson, .csv"]),
        (["triage", "README.md", "--tz", "Berlin"], ["--tz Berlin is no time zone", "Europe/Berlin"]),
        (["triage", "README.md", "--since", "noon"], ["--since noon is no time", "2026-08-05T12:00:00"]),
        (["triage", "README.md", "--since", "2026-08-06", "--until", "2026-08-05"], ["--since is later than --until"]),
        (["explain", ""], ["nothing to explain", "signatures list"]),
        (["explain", "NCL001"], ["no signature NCL001", "NCCL001"]),
        (["parse", "nothing-there"], ["no such file", "nothing-there"]),
        (["triage", "/tmp/password=hunter2zq"], ["/tmp/password=***"]),
        (["README.md"], ["k3logs triage README.md"]),
        (["triage", "README.md", "-o", "/nowhere/at/all.txt"], ["cannot write", "/nowhere/at/all.txt"]),
        (["triage", "README.md", "-o", "docs"], ["cannot write docs", "folder"]),
        (["triage", "README.md", "-o", "/dev/full"], ["cannot write"]),
        (["triage", "README.md", "--grammars", "nothing-there"], ["nothing-there"]),
        (["explain", "NCCL999"], ["no signature NCCL999", "NCCL001"]),
        (["signatures", "test", "nothing-there"], ["nothing-there"]),
        (["grammars", "test"], ["LINE|FILE"]),
        (["batch", "docs"], ["-o"]),
        (["corpus", "check", "nothing-there"], ["nothing-there", "dmabuf-524"]),
        (["corpus", "check", "--dir", "docs"], ["no labelled incident"]),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_in_one_sentence(args: list[str], words: list[str]) -> None:
    refused(k3logs(*args), *words)


def test_nothing_to_read_says_what_to_do() -> None:
    leader, follower = pty.openpty()
    try:
        refused(k3logs("triage", terminal=follower), "nothing to read", "docker logs --timestamps")
    finally:
        os.close(leader)
        os.close(follower)


def test_closed_streams_are_no_crash() -> None:
    refused(shell("k3logs triage <&-"), "nothing to read")
    refused(shell("k3logs triage - <&-"), "standard input is closed")
    refused(shell(f"k3logs triage {FAILED} >&-"), "standard output is closed", "-o")
    assert shell(f"k3logs triage {FAILED} 2>&-").returncode == 1


def test_a_full_disk_is_said() -> None:
    refused(shell(f"k3logs triage {FAILED} > /dev/full"), "cannot write standard output", "No space left")
    refused(shell("k3logs schema > /dev/full"), "cannot write standard output")


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    for command in (f"k3logs triage {FAILED} --format json", "k3logs signatures list", "k3logs --help"):
        done = shell(f"{command} | true; exit ${{PIPESTATUS[0]}}")
        assert (done.returncode, done.stderr) in ((0, b""), (1, b"")), command  # 1: all was written before the reader left


def test_an_interrupt_is_130() -> None:
    process = subprocess.Popen([sys.executable, "-m", "k3logs", "triage"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(b"hello\n")
    process.stdin.flush()
    waiting = bytearray(4)
    while not fcntl.ioctl(process.stdin, termios.FIONREAD, waiting) and int.from_bytes(waiting, "little"):
        time.sleep(0.05)  # until it reads
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, error) == (b"", b"k3logs: interrupted\n")


def test_an_internal_error_is_not_taken_for_a_failure_found() -> None:
    code = "import sys, k3logs.cli, click; k3logs.cli.cli.invoke = lambda c: 1 / 0; from k3logs.__main__ import main; main(['schema'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "internal error, ZeroDivisionError" in done.stderr
    assert "Traceback" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | {"K3LOGS_DEBUG": "1"}).stderr


@pytest.mark.parametrize("args", [[], ["signatures"], ["grammars"]])
def test_a_command_alone_shows_its_help_as_it_is_read(args: list[str]) -> None:
    done = k3logs(*args)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith("Usage: k3logs ")
    assert done.stderr.count(b"\n") > 8
    assert b"\\n" not in done.stderr


@pytest.mark.parametrize("args", ["--help", "triage --help", "--version", "signatures list"])
def test_help_that_cannot_be_written_is_said(args: str) -> None:
    done = shell(f"k3logs {args} > /dev/full")
    refused(done, "cannot write", "No space left")


def test_standard_output_by_its_file_name(tmp_path: Path) -> None:
    plain = k3logs("triage", FAILED).stdout
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert shell(f"k3logs triage {FAILED} -o {name} | cat").stdout == plain, name
        (tmp_path / "out").write_text("before\n")
        assert shell(f"k3logs triage {FAILED} -o {name} >> {tmp_path}/out").stdout == b""
        assert (tmp_path / "out").read_bytes() == b"before\n" + plain, name
    quiet = shell(f"k3logs parse {FAILED} -o /dev/stdout | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (quiet.returncode, quiet.stderr, quiet.stdout.count(b"\n")) == (0, b"", 1)


def test_told_to_end_it_leaves_nothing_behind(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-m", "k3logs", "triage", "-o", tmp_path / "a.txt"], cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(b"hello\n" * 1000)
    process.stdin.flush()
    while not any(tmp_path.iterdir()):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert (process.wait(timeout=30), list(tmp_path.iterdir())) == (143, [])
    process.stdin.close()


@pytest.mark.parametrize(("zone", "wanted"), [("", "12:00:03Z"), ("Europe/Berlin", "10:00:03Z"), ("+05:30", "06:30:03Z"), ("UTC-7", "19:00:03Z"), ("UTC", "12:00:03Z")])
def test_the_zone_of_stamps_that_name_none(zone: str, wanted: str) -> None:
    log = b"(Worker_TP1 pid=7) ERROR 08-05 12:00:03 [a.py:9] Traceback (most recent call last):\n(Worker_TP1 pid=7) ERROR 08-05 12:00:03 [a.py:9] RuntimeError: boom at last\n"
    options = ["--tz", zone] if zone else []
    found = json.loads(k3logs("triage", "--format", "json", *options, stdin=log).stdout)
    assert found["root_cause"]["time"].endswith(wanted), found["root_cause"]["time"]
    row = json.loads(k3logs("parse", *options, stdin=log).stdout.splitlines()[0])
    assert row["time"].endswith(wanted)


def test_failures_outside_the_time_asked_for_are_left_out() -> None:
    line = "2026-08-05T{}Z (Worker_TP{} pid={}) ERROR 08-05 {} [a.py:9] {}\n"
    log = "".join(line.format(clock, rank, 70 + rank, clock, text) for clock, rank, text in [
        ("12:00:03", 1, "Traceback (most recent call last):"), ("12:00:03", 1, "RuntimeError: boom of one"),
        ("13:00:03", 2, "Traceback (most recent call last):"), ("13:00:03", 2, "ValueError: boom of two")]).encode()  # fmt: skip

    def message(*options: str) -> str:
        found = json.loads(k3logs("triage", "--format", "json", *options, stdin=log).stdout)
        assert any("--since" in notice for notice in found["coverage"]["notices"]) is bool(options)
        return found["root_cause"]["message"] if found["root_cause"] else ""

    assert message() == "RuntimeError: boom of one"
    assert message("--since", "2026-08-05T12:30") == "ValueError: boom of two"
    assert message("--since", "2026-08-05T14:30", "--tz", "+02:00") == "ValueError: boom of two"
    assert message("--until", "2026-08-05T12:30") == "RuntimeError: boom of one"
    assert message("--since", "2026-08-05T14:00") == ""


# Input.


def test_an_archive_cut_short_is_read_up_to_the_cut(tmp_path: Path) -> None:
    whole = gzip.compress(b"INFO 08-05 12:00:01 [a.py:1] hello\n" * 20_000 + os.urandom(100_000))
    (tmp_path / "a.log.gz").write_bytes(whole[: len(whole) // 2])
    found = json.loads(k3logs("triage", "--format", "json", tmp_path / "a.log.gz").stdout)
    assert found["coverage"]["lines"] > 1000
    assert any("cut short" in notice for notice in found["coverage"]["notices"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_with_unreadable_files_is_read_without_them(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(TRACEBACK)
    (tmp_path / "b.log").touch(mode=0)
    found = json.loads(k3logs("triage", "--format", "json", tmp_path).stdout)
    assert any("b.log: not read" in notice for notice in found["coverage"]["notices"])


def test_a_users_grammar_that_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "dialects").mkdir()
    (tmp_path / "dialects" / "mine.lark").write_text('line: "a" X -> one\nX: /[a-/\n')
    refused(k3logs("triage", FAILED, "--grammars", tmp_path), "mine.lark")
    bad = tmp_path / "sigs" / "MINE001-x.toml"
    bad.parent.mkdir()
    bad.write_text('id = "MINE001"\n')
    refused(k3logs("triage", FAILED, "--signatures", bad.parent), "MINE001-x.toml")


# Output.


def test_a_file_gets_the_format_of_its_name_and_nothing_else_happens(tmp_path: Path) -> None:
    done = k3logs("triage", FAILED, "-o", tmp_path / "ticket.md", env={"FORCE_COLOR": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert (tmp_path / "ticket.md").read_text().startswith("# Rank 11")
    k3logs("triage", FAILED, "-o", tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["outcome"] == "failure"
    refused(k3logs("triage", "nothing-there", "-o", tmp_path / "none.txt"), "nothing-there")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "ticket.md"]


def test_colour_only_where_it_is_wanted() -> None:
    def escapes(*args: str, **env: str) -> bool:
        return b"\x1b[" in k3logs("triage", FAILED, *args, env=env).stdout

    assert not escapes()
    assert escapes(FORCE_COLOR="1")
    assert not escapes(FORCE_COLOR="0")
    assert not escapes(FORCE_COLOR="1", NO_COLOR="1")
    assert not escapes("--no-color", FORCE_COLOR="1")


def test_secrets_and_escapes_in_a_log_stay_there() -> None:
    log = b"\x1b[2J[rank0]: Traceback (most recent call last):\n[rank0]: ValueError: token=hunter2hunter2 \x1b]0;x\x07 \xe2\x80\xae hf_AbCdEfGhIjKlMnOpQrStUvWx012345\n"
    for name in ("text", "json", "markdown"):
        out = k3logs("triage", "--format", name, stdin=log).stdout
        assert b"hunter2" not in out
        assert b"AbCdEfGh" not in out
        assert b"\x1b" not in out
        assert "\u202e".encode() not in out


def test_a_terminal_that_cannot_show_a_letter_gets_its_escape() -> None:
    done = k3logs("triage", stdin="[rank0]: ValueError: größe\n".encode(), env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode in (1, 3), done.stderr
    done.stdout.decode("ascii")


# The other commands.


def test_commands_that_look_inside() -> None:
    assert b"@timestamp" in k3logs("schema").stdout
    assert json.loads(k3logs("schema", "--format", "json").stdout)["columns"][0]["name"] == "source"
    assert b"| message |" in k3logs("schema", "--format", "markdown").stdout
    assert b"NCCL001" in k3logs("signatures", "list", "nccl", "524").stdout
    assert b"NVIDIA" not in k3logs("signatures", "list", "no such words at all").stdout
    page = k3logs("explain", "nccl001").stdout.decode()
    assert all(word in page for word in ("What to do", "collect first: ", "if: ", "avoid: ", "References"))
    listed = k3logs("grammars", "list").stdout.decode()
    assert all(word in listed for word in ("envelope", "dialect", "message", "vllm", "nccl"))


def test_how_a_line_was_read() -> None:
    line = "(Worker_TP1 pid=77) ERROR 08-05 12:00:02 [core.py:9] failed"
    read = k3logs("grammars", "test", line).stdout.decode()
    assert "process.tag > vllm.record" in read
    assert "Worker_TP1" in read
    left = k3logs("grammars", "test", "(Worker_TP1 pid=) hello").stdout.decode()
    assert "process reads '(Worker_TP1 pid=', then expects" in left
    explained = k3logs("explain", "h:1:2 [3] NCCL WARN Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524").stdout.decode()
    assert "signature: NCCL001" in explained


def test_how_a_file_was_read() -> None:
    log = next(FAILED.glob("*21.log"))
    for done in (k3logs("grammars", "test", log), k3logs("grammars", "test", "-", stdin=log.read_bytes())):
        assert "nccl.record" in done.stdout.decode()
    assert k3logs("grammars", "test", "-", stdin=b"").returncode == 0
    assert k3logs("grammars", "test", "").returncode == 0
    refused(k3logs("grammars", "test", FAILED), "one file at a time")


def test_a_users_signatures_are_checked(tmp_path: Path) -> None:
    refused(k3logs("signatures", "test", tmp_path), "holds no signature")
    (tmp_path / "BAD001-x.toml").write_text('id = "BAD001"\ntitle = "x"\n')
    refused(k3logs("signatures", "test", tmp_path), "BAD001-x.toml")
    (tmp_path / "BAD001-x.toml").write_bytes(b'id = "BAD001"\ntitle = "\xe4"\n')
    refused(k3logs("signatures", "test", tmp_path), "BAD001-x.toml:2: is not UTF-8")


@pytest.mark.skipif(not HAS_READ, reason="no event table yet")
@pytest.mark.parametrize("name", ["parquet", "arrow", "ndjson", "csv"])
def test_parse_writes_every_format(name: str, tmp_path: Path) -> None:
    out = tmp_path / f"events.{name}"
    done = k3logs("parse", FAILED, "-o", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert out.stat().st_size > 1000
    piped = k3logs("parse", "--format", name, stdin=next(FAILED.glob("*21.log")).read_bytes())
    assert piped.returncode == 0, piped.stderr
    assert len(piped.stdout) > 1000


def test_the_corpus_is_checked_and_accepted(tmp_path: Path) -> None:
    case = tmp_path / "boom"
    (case / "logs").mkdir(parents=True)
    (case / "logs" / "a.log").write_bytes(TRACEBACK)
    truth = case / "incident.toml"
    truth.write_text('[truth]\noutcome = "failure"\nneedles = ["ValueError: boom"]\n')
    done = k3logs("corpus", "check", "--dir", tmp_path)
    assert (done.returncode, b"no expected.json yet" in done.stdout) == (1, True), done.stderr
    assert k3logs("corpus", "accept", "--dir", tmp_path).returncode == 0
    assert k3logs("corpus", "check", "boom", "--dir", tmp_path).returncode == 0
    (case / "expected.json").write_text((case / "expected.json").read_text().replace("boom", "bang"))
    changed = k3logs("corpus", "check", "--dir", tmp_path)
    assert changed.returncode == 1
    assert b"-" in changed.stdout
    assert b"bang" in changed.stdout
    truth.write_text('[truth]\noutcome = "no_failure"\n')
    missed = k3logs("corpus", "accept", "--dir", tmp_path)
    assert (missed.returncode, b"missed   boom: outcome failure" in missed.stdout) == (1, True)
    truth.write_text('[truth]\noutcom = "failure"\n')
    refused(k3logs("corpus", "check", "--dir", tmp_path), "incident.toml", "outcome")


def test_completion_is_there() -> None:
    assert b"complete" in k3logs(env={"_K3LOGS_COMPLETE": "bash_source"}).stdout


def test_the_log_is_never_overwritten_by_its_report(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("(Worker_TP1 pid=7) ERROR 08-05 12:00:02 [core.py:9] RuntimeError: zq\n")
    for command in ("triage", "parse"):
        refused(shell(f"k3logs {command} {log} -o {tmp_path}/../{tmp_path.name}/x.log"), "would be overwritten", "-o another name")
    assert "zq" in log.read_text()


def test_a_fifo_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("hello\n")
    os.mkfifo(tmp_path / "a.log")
    done = shell(f"timeout 30 k3logs triage {tmp_path}")
    assert done.returncode == 3
    assert b"a.log: not read" in done.stdout
