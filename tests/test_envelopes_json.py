"""Lines that a runtime or a collector keeps as JSON: any spacing, any order of keys, colours and line ends inside."""

from __future__ import annotations

import json

import polars as pl
import pytest
from reading import digested, events, raised

from k3logs.envelopes import ansi
from k3logs.envelopes.collected_json import _stamps

LINE = "(Worker_TP3 pid=412) ERROR 08-05 12:00:02 [multiproc_executor.py:654] ValueError: expert map mismatch <3>"
COLOURED = "\x1b[0;36m(Worker_TP3 pid=412)\x1b[0;0m ERROR 08-05 12:00:02 [multiproc_executor.py:654] ValueError: expert map mismatch <3>"
STAMP = "2026-08-05T12:00:02.5Z"
NANOS = 1_785_931_202_500_000_000

SHAPES = {
    "docker": {"log": "{}\n", "stream": "stderr", "time": STAMP},
    "docker attrs": {"log": "{}\n", "stream": "stderr", "attrs": {"tag": "vllm"}, "time": STAMP},
    "docker other order": {"time": STAMP, "stream": "stderr", "log": "{}\n"},
    "docker and more": {"log": "{}\n", "stream": "stderr", "time": STAMP, "kubernetes": {"pod_name": "vllm-0", "host": "n1"}},
    "fluent bit": {"date": 1785931202.5, "stream": "stderr", "_p": "F", "log": "{}", "kubernetes": {"pod_name": "vllm-0"}},
    "logcli": {"labels": {"pod": "vllm-0", "stream": "stderr"}, "line": "{}", "timestamp": STAMP},
    "ecs": {"@timestamp": STAMP, "message": "{}", "stream": "stderr", "host": {"name": "n1"}, "log": {"offset": 3}},
    "elasticdump": {"_index": "logs", "_id": "x", "_source": {"@timestamp": STAMP, "message": "{}", "kubernetes": {"pod": {"name": "vllm-0"}}}},
    "cloudwatch": {"logStreamName": "vllm", "timestamp": 1785931202500, "message": "{}", "ingestionTime": 1785931209000, "eventId": "1"},
    "journal": {"_HOSTNAME": "n1", "MESSAGE": "{}", "__REALTIME_TIMESTAMP": "1785931202500000", "_PID": "1401", "PRIORITY": "3"},
    "gelf": {"version": "1.1", "host": "n1", "short_message": "{}", "timestamp": 1785931202.5, "level": 3},
    "google": {"textPayload": "{}", "severity": "ERROR", "timestamp": STAMP, "resource": {"labels": {"pod_name": "vllm-0"}}},
}


def fill(shape: object, line: str) -> object:
    if isinstance(shape, dict):
        return {key: fill(value, line) for key, value in shape.items()}
    return shape.replace("{}", line) if isinstance(shape, str) else shape


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")], ids=["tight", "spaced", "wide"])
@pytest.mark.parametrize("line", [LINE, COLOURED, LINE + "\r"], ids=["plain", "coloured", "cr"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_line_inside_is_read(shape: str, line: str, separators: tuple[str, str]) -> None:
    text = json.dumps(fill(SHAPES[shape], line), separators=separators) + "\n"
    (digest,) = digested(text)
    (row,) = digest.rows.iter_rows(named=True)
    fields = digest.headers.known[row["header"]].fields
    assert (fields["process"], fields["pid"], fields["level"]) == ("Worker_TP3", "412", "ERROR")
    assert row["message"] == "ValueError: expert map mismatch <3>"
    assert row["envelope_time"] == NANOS


def test_where_a_line_comes_from_is_read() -> None:
    (digest,) = digested(json.dumps(fill(SHAPES["docker and more"], LINE)) + "\n")
    fields = digest.headers.known[digest.rows["header"][0]].fields
    assert (fields["host"], fields["pod"]) == ("n1", "vllm-0")


def test_a_coloured_line_of_the_journal_is_an_array_of_bytes() -> None:
    row = {"MESSAGE": list(COLOURED.encode()), "_HOSTNAME": "n1", "__REALTIME_TIMESTAMP": "1785931202500000"}
    (event,) = events(json.dumps(row) + "\n")
    assert event.first.message == "ValueError: expert map mismatch <3>"


def test_a_traceback_with_crlf_inside_json_is_one_exception() -> None:
    lines = ["WorkerProc failed.", "Traceback (most recent call last):", '  File "a.py", line 3, in load', "KeyError: 'w'"]
    head = "(Worker_TP3 pid=412) ERROR 08-05 12:00:02 [multiproc_executor.py:654] "
    text = "".join(json.dumps({"log": f"{head}{line}\r\n", "stream": "stderr", "time": STAMP}) + "\n" for line in lines)
    (event,) = raised(text)
    assert [(link.type, link.message, link.frames) for link in event.chain] == [("KeyError", "'w'", ["a.py:3 load"])]


def test_only_pieces_of_full_length_wait_for_the_next() -> None:
    def row(log: str) -> str:
        return json.dumps({"log": log, "stream": "stderr", "time": STAMP}, separators=(",", ":")) + "\n"

    long = "ERROR 08-05 12:00:02 [a.py:1] ValueError: " + "x" * 16_384
    assert len(events(row(LINE) + row(LINE.replace("412", "413")))) == 2
    assert len(events(row(long[:16_384]) + row(long[16_384:] + "\n"))) == 1


@pytest.mark.parametrize("line", ['{"message": "step", "level": "INFO"}', '{"model": "k3", "line": 3}', '{"log": {"level": "x"}}', '{"log": "cut short'])
def test_other_objects_are_no_wrapped_lines(line: str) -> None:
    (digest,) = digested(line + "\n(Worker_TP3 pid=412) ERROR 08-05 12:00:02 [a.py:1] ValueError: x\n")
    assert not any("docker_json.line" in header.forms for header in digest.headers.known)


def test_stamps_of_any_unit() -> None:
    texts = ["1785931202", "1785931202.5", "1785931202500", "1785931202500000", "1785931202500000000", "2026-08-05 12:00:02,5", STAMP, "1.78593E+18", "12:00"]
    base = "2026-08-05T12:00:02"
    assert _stamps(pl.Series(texts)).to_list() == [f"{base}.000000000Z", *[f"{base}.500000000Z"] * 4, f"{base}.5Z", STAMP, None, None]


@pytest.mark.parametrize(("line", "bare"), [
    ("\x1b[0;36m(Worker_TP1 pid=7)\x1b[0;0m x", "(Worker_TP1 pid=7) x"),
    ("^[[0;36m(Worker_TP1 pid=7)^[[0;0m x", "(Worker_TP1 pid=7) x"),
    ("[0;36m(Worker_TP1 pid=7)[0;0m x", "(Worker_TP1 pid=7) x"),
    ("\x1b(APIServer pid=7) x", "(APIServer pid=7) x"),
    ("\x1b(B\x1b[mdone", "done"),
    (r'{"log":"\u001b[0;36m(Worker_TP1 pid=7)\u001b[0;0m x"}', '{"log":"(Worker_TP1 pid=7) x"}'),
])  # fmt: skip
def test_colours_go_whole(line: str, bare: str) -> None:
    text = pl.Series([line])
    assert ansi.carries(text).to_list() == [True]
    assert ansi.strip(text).to_list() == [bare]
