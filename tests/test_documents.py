"""JSON exports of log stores: one document for many lines, in one line or pretty printed, of any size, read as the lines themselves are."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import k3logs
from k3logs.sources.documents import Unpacked, _Walk, is_document

LINES = [
    ("n1", "vllm-0", 1785931200000000000, "(APIServer pid=1) INFO 08-05 12:00:00 [api_server.py:1772] vLLM API server version 0.11.0"),
    ("n2", "vllm-0-1", 1785931202500000000, "(Worker_TP3 pid=412) ERROR 08-05 12:00:02 [multiproc_executor.py:654] Traceback (most recent call last):"),
    ("n2", "vllm-0-1", 1785931202500100000, '(Worker_TP3 pid=412) ERROR 08-05 12:00:02 [multiproc_executor.py:654]   File "a.py", line 3, in load'),
    ("n2", "vllm-0-1", 1785931202500200000, "(Worker_TP3 pid=412) ERROR 08-05 12:00:02 [multiproc_executor.py:654] ValueError: expert map <mismatch>"),
    ("n1", "vllm-0", 1785931203100000000, "(EngineCore_DP0 pid=99) ERROR 08-05 12:00:03 [core.py:9] RuntimeError: cancelled"),
]  # fmt: skip
Lines = list[tuple[str, str, int, str]]


def iso(nanos: int) -> str:
    return f"2026-08-05T12:00:{nanos // 10**9 - 1785931200:02d}.{nanos % 10**9:09d}Z"


def streams(lines: Lines) -> list[dict[str, Any]]:
    """As a store keeps them: each pod's lines by themselves."""
    pods = dict.fromkeys((node, pod) for node, pod, _, _ in lines)
    return [{"stream": {"pod": pod, "node_name": node, "container": "vllm", "stream": "stderr"}, "values": [[str(t), text] for n, _, t, text in lines if n == node]} for node, pod in pods]


def source(node: str, pod: str, t: int, text: str) -> dict[str, Any]:
    return {"@timestamp": iso(t), "log": {"offset": 5}, "stream": "stderr", "message": text, "kubernetes": {"pod": {"name": pod}, "node": {"name": node}, "container": {"name": "vllm"}}}


def otlp(lines: Lines) -> dict[str, Any]:
    def attribute(key: str, value: str) -> dict[str, Any]:
        return {"key": key, "value": {"stringValue": value}}

    return {"resourceLogs": [{"resource": {"attributes": [attribute("k8s.pod.name", pod), attribute("k8s.node.name", node)]},
                              "scopeLogs": [{"scope": {}, "logRecords": [{"timeUnixNano": str(t), "body": {"stringValue": text}}]}]} for node, pod, t, text in lines]}  # fmt: skip


SHAPES = {
    "loki": lambda lines: {"status": "success", "data": {"resultType": "streams", "result": streams(lines), "stats": {"summary": {"execTime": 0.1}}}},
    "loki backward": lambda lines: {"status": "success", "data": {"resultType": "streams", "result": streams(lines[::-1])}},
    "loki categorized": lambda lines: {"data": {"result": [one | {"values": [[*v, {"structuredMetadata": {"trace_id": "1"}}] for v in one["values"]]} for one in streams(lines)]}},
    "loki push": lambda lines: {"streams": streams(lines)},
    "grafana": lambda lines: [{"line": text, "timestamp": str(t), "date": iso(t), "fields": {"pod": pod, "node_name": node, "stream": "stderr"}} for node, pod, t, text in lines],
    "elasticsearch": lambda lines: {"took": 3, "_shards": {"total": 1}, "hits": {"total": {"value": 5}, "max_score": None, "hits": [
        {"_index": "logs", "_id": f"{line[2]}", "_score": None, "_source": source(*line), "sort": [line[2]]} for line in lines]}},
    "sources": lambda lines: [source(*line) for line in lines],
    "cloudwatch": lambda lines: {"events": [{"logStreamName": pod, "timestamp": t // 10**6, "message": text, "ingestionTime": 0, "eventId": "1"} for _, pod, t, text in lines], "searchedLogStreams": []},
    "datadog": lambda lines: {"data": [{"id": "A", "type": "log", "attributes": {"host": node, "message": text, "timestamp": iso(t), "tags": ["a:b"], "status": "error"}} for node, _, t, text in lines],
                              "meta": {"page": {"after": "x"}}},
    "opentelemetry": otlp,
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1, 4, "tab"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_document_reads_as_its_lines_do(shape: str, indent: int | str | None, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(SHAPES[shape](LINES), indent="\t" if indent == "tab" else indent))
    found = k3logs.triage(tmp_path / "a.json")
    assert found.root_cause is not None
    root = found.root_cause
    assert (found.outcome, root.process, root.pid, root.message) == ("failure", "Worker_TP3", 412, "ValueError: expert map <mismatch>")
    assert root.exception is not None
    assert root.exception.frames == ["a.py:3 load"]
    assert shape == "cloudwatch" or root.node == "n2"
    assert (found.coverage.lines, found.coverage.parsed_lines) == (5, 5)
    assert [notice for notice in found.coverage.notices if "a JSON document" in notice] != []
    table = k3logs.read(tmp_path / "a.json")
    assert table["message"].to_list() == [text.partition("] ")[2] for _, _, _, text in LINES]
    assert table["envelope_time"].cast(int).to_list() == [t // 10**6 * 10**6 if shape == "cloudwatch" else t for _, _, t, _ in LINES]


def test_a_document_through_a_pipe_packed_or_in_utf_16(tmp_path: Path) -> None:
    import gzip

    text = json.dumps(SHAPES["loki"](LINES))
    for data in (text.encode(), text.encode("utf-16"), gzip.compress(text.encode()), b"\n " + text.encode(), (text + "\n" + text + "\n").encode()):
        done = subprocess.run([sys.executable, "-m", "k3logs", "triage", "--format", "json"], input=data, capture_output=True, check=False, timeout=60)
        assert done.returncode == 1, done.stderr
        assert json.loads(done.stdout)["root_cause"]["node"] == "n2"


@pytest.mark.parametrize("shape", ["loki", "elasticsearch", "grafana"])
def test_a_cut_document_is_read_up_to_the_cut(shape: str, tmp_path: Path) -> None:
    text = json.dumps(SHAPES[shape]([LINES[0]] * 200))
    (tmp_path / "a.json").write_text(text[: len(text) // 2])
    found = k3logs.triage(tmp_path / "a.json")
    assert found.outcome == "inconclusive"
    assert 80 < found.coverage.lines < 110
    assert any("no whole JSON document" in notice for notice in found.coverage.notices)


@pytest.mark.parametrize("text", [
    '{"log":"x\\n","stream":"stderr","time":"2026-08-05T12:00:02Z"}\n' * 3, '{"message": "a", "level": "INFO", "tags": [{"a": 1}]}\n', '{"labels": {"a": "b"}, "line": "x"}\n',
    "[rank0]: Traceback (most recent call last):\n", "[2026-08-05 12:00:00] x\n", "{not json\n}\n", "[[1, 2]]\n", '{"model": "k3"}\n', "", "{", "\n\n",
    '{"log": "cut short [{', '{"log": "' + "x" * 100_000,
])  # fmt: skip
def test_what_is_no_document_of_records_is_not_taken_for_one(text: str) -> None:
    assert not is_document(text.encode()[: 1 << 16])


@pytest.mark.parametrize("text", ['[{"a": 1}]', '{"a": [{"b": 1}],\n "c": 2}', '{\n "a": 1\n}\n', '{"data":{"result":[{"metric":{},"values":[[1,"1"]]}]}}', "[{", '{"a": [[1, 2'])
def test_a_document_without_records_is_given_out_as_it_is(text: str) -> None:
    told: list[str] = []
    assert Unpacked(lambda: io.BytesIO(text.encode()), told.append, told.append).read() == text.encode()  # type: ignore[arg-type,return-value]


def big(count: int) -> Iterator[bytes]:
    yield b'{"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"pod": "vllm-0"}, "values": ['
    for n in range(count):
        yield b'%s["%d", "%s"]' % (b", " if n else b"", 1785931200000000000 + n, b"INFO 08-05 12:00:00 [a.py:1] " + b"x" * 500)
    yield b']}], "stats": {"a": [1, 2]}}}'


class Made(io.RawIOBase):
    """A document that is made while it is read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self.parts = parts

    def read(self, size: int = -1) -> bytes:
        data = b""
        while len(data) < size and (part := next(self.parts, b"")):
            data += part
        return data


def test_a_document_needs_the_memory_of_a_part_of_it() -> None:
    walk = _Walk(Made(big(100_000)), lambda why: pytest.fail(why))  # type: ignore[arg-type]
    longest = count = 0
    for record in walk._value({}):
        count += 1
        longest = max(longest, len(walk._text))
        assert record["labels"] == {"pod": "vllm-0"}
    assert count == 100_000
    assert longest < 3 << 20
