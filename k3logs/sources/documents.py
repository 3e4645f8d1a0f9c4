"""JSON exports of log stores, one document for many lines, as one JSON object a line, which is what the wrappers' readers know.

Loki's API and ``logcli`` (``data.result[].values``, grafana/loki pkg/loghttp), its push and tail frames (``streams[].values``), Grafana's
Explore (an array), Elasticsearch and OpenSearch (``hits.hits[]._source``), CloudWatch (``events[]``), Google Cloud (an array), Datadog
(``data[].attributes``): any array of objects that hold a log text, anywhere in the document, printed in one line or over many.
Only one element is held at a time, or a part of one that is larger than :data:`WHOLE`.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

HEAD = 1 << 16
"""Bytes of a source that tell whether it is such a document."""

WHOLE = 1 << 20
"""Characters up to which a value is decoded at once."""

TEXTS = ("log", "line", "MESSAGE", "short_message", "textPayload", "message", "msg")
"""Keys of a log text."""

MERGED = 64 << 20
"""Characters of lines up to which the streams of a store's answer are put in the order of their times: each is sorted by itself alone."""

REMARK = "a JSON document; its log records are numbered in the order in which they are read"

_RESOURCE = {"k8s.pod.name": "pod", "k8s.container.name": "container", "k8s.namespace.name": "namespace", "k8s.node.name": "node_name", "host.name": "host"}
"""OpenTelemetry's names -> those that the readers of wrapped lines know."""

_LIST = r'"[A-Za-z_]+"\s*:\s*\[\s*[\[{]'
_SPACE = " \t\r\n"


def is_document(head: bytes) -> bool:
    """Whether data that begins so is one JSON document, or one after the other, with lists of records; not one record a line."""
    text = head.decode("utf-8", "ignore").lstrip(_SPACE)
    if text.startswith("["):
        return text[1:].lstrip(_SPACE).startswith("{")
    if not text.startswith("{"):
        return False
    first = text.partition("\n")[0].rstrip()
    try:
        found = json.loads(first)
    except ValueError:
        if "\n" in text:  # printed over several lines, unless it is a line that only begins with a brace
            return first == "{" or (first[-1] in "{[," and first[1:].lstrip().startswith('"'))
        return re.search(_LIST, text) is not None and not any(text[1:].lstrip().startswith(f'"{key}"') for key in TEXTS)
    return isinstance(found, dict) and not _says(found) and _lists(found)


def _says(value: dict[str, Any]) -> bool:
    """Whether an object is a log record: it, or an object in it, holds a text."""
    return any(isinstance(value.get(key), str) or (key == "MESSAGE" and isinstance(value.get(key), list)) for key in TEXTS)


def _lists(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_lists(inner) for inner in value.values())
    return isinstance(value, list) and any(isinstance(inner, (dict, list)) for inner in value)


def records(value: Any, labels: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """The log records in a decoded value, each as an object that the readers of wrapped lines know.

    Args:
        labels: what the objects around it say of where they come from (OpenTelemetry's resource).
    """
    if isinstance(value, list):
        for inner in value:
            yield from records(inner, labels)
    elif isinstance(value, dict):
        if isinstance(value.get("resource"), dict):
            labels = _resource(value["resource"])
        if isinstance(value.get("values"), list) and isinstance(value.get("stream"), dict):
            entries = [record for entry in value["values"] for record in _entry(entry, value["stream"])]
            falls = len(entries) > 1 and _time(entries[0]) > _time(entries[-1])  # newest first
            yield from reversed(entries) if falls else entries
        elif isinstance(body := value.get("body"), dict) and isinstance(body.get("stringValue"), str):
            yield {"labels": labels or {}, "line": body["stringValue"], "timestamp": str(value.get("timeUnixNano") or value.get("observedTimeUnixNano") or "")}
        elif _says(value) or any(isinstance(inner, dict) and _says(inner) for inner in value.values()):
            yield value
        else:
            for inner in value.values():
                yield from records(inner, labels)


def _resource(resource: dict[str, Any]) -> dict[str, Any]:
    pairs = [(pair.get("key"), pair.get("value")) for pair in resource.get("attributes") or () if isinstance(pair, dict)]
    return {_RESOURCE[key]: value.get("stringValue") for key, value in pairs if key in _RESOURCE and isinstance(value, dict)}


def _time(record: dict[str, Any]) -> int:
    stamp = record.get("timestamp", "")
    return int(stamp) if stamp.isdigit() and len(stamp) < 20 else 0


def _entry(entry: Any, labels: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One of Loki's ``[time, line]`` or ``[time, line, metadata]``."""
    if isinstance(entry, list) and len(entry) >= 2 and isinstance(entry[1], str):
        yield {"labels": labels, "line": entry[1], "timestamp": str(entry[0])}


def _in_order(held: list[tuple[int, str]]) -> Iterator[str]:
    held.sort(key=lambda pair: pair[0])
    return (line for _, line in held)


class Unpacked(io.RawIOBase):
    """A document as lines; one that holds no record is given out as it is.

    Args:
        opened: opens the document.
        broken: called with the reason when it ends before its time.
        remark: called with what has to be known of its lines.
    """

    def __init__(self, opened: Callable[[], BinaryIO], broken: Callable[[str], None], remark: Callable[[str], None]) -> None:
        self._opened = opened
        self._remark = remark
        self._lines = _Walk(opened(), broken).lines()
        self._left = memoryview(b"")
        self._plain: BinaryIO | None = None
        self._any = False

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill ``buffer``; 0 at the end."""
        if self._plain is not None:
            data = self._plain.read(len(buffer)) or b""
            buffer[: len(data)] = data
            return len(data)
        if not self._left:
            batch: list[str] = []
            size = 0
            for line in self._lines:
                batch.append(line)
                size += len(line)
                if size > 1 << 16:
                    break
            self._left = memoryview("".join(batch).encode("utf-8", "replace"))
            self._any = self._any or bool(batch)
            if self._any:
                self._remark(REMARK)
            else:
                self._plain = self._opened()
                return self.readinto(buffer)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


class _Walk:
    """Goes through a document without holding more of it than one value of at most :data:`WHOLE` characters."""

    def __init__(self, stream: BinaryIO, broken: Callable[[str], None]) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._json = json.JSONDecoder(strict=False)
        self._ended = False
        self._broken = broken
        self.why = ""

    def lines(self) -> Iterator[str]:
        """The records, one a line."""
        held: list[tuple[int, str]] | None = []
        size = 0
        try:
            while self._next():
                for record in self._value({}):
                    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
                    if held is None or "labels" not in record or "line" not in record:
                        yield line
                        continue
                    held.append((_time(record), line))
                    size += len(line)
                    if size > MERGED:  # all that follows stays in its streams
                        yield from _in_order(held)
                        held = None
        except (ValueError, RecursionError) as error:
            self.why = f"no whole JSON document, read up to there ({error})"
        yield from _in_order(held or [])
        if self.why:
            self._broken(self.why)

    def _more(self) -> bool:
        """Read on; whether there was more."""
        if self._ended:
            return False
        data = self._stream.read(1 << 18) or b""
        self._ended = not data
        self._text = self._text[self._at :] + self._decoder.decode(data, self._ended)
        self._at = 0
        return not self._ended

    def _next(self) -> str:
        """The next letter that is no blank; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _take(self, wanted: str) -> str:
        found = self._next()
        if not found or found not in wanted:
            raise ValueError(f"{found!r} where one of {wanted!r} belongs" if found else "it is cut short")
        self._at += 1
        return found

    def _decoded(self) -> tuple[bool, Any]:
        """The value that begins here, if it is not too large to be decoded at once."""
        self._next()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except ValueError:
                if len(self._text) - self._at > WHOLE or not self._more():
                    return False, None
                continue
            if end < len(self._text) or not self._more():  # a number may go on
                self._at = end
                return True, value

    def _value(self, around: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The records in the value that begins here.

        Args:
            around: what the object that it stands in has said so far.
        """
        whole, value = self._decoded()
        if whole:
            yield from records(value)
            return
        if self._next() not in "[{":
            raise ValueError("it is cut short" if self._ended else "a text is longer than 1 MiB")
        yield from self._list(around) if self._take("[{") == "[" else self._object()

    def _list(self, around: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if self._next() == "]":
            self._at += 1
            return
        labels = around.get("stream")
        while True:
            if isinstance(labels, dict) and self._next() == "[":
                whole, entry = self._decoded()
                if not whole:
                    raise ValueError("an entry is cut short or longer than 1 MiB")
                yield from _entry(entry, labels)
            else:
                yield from self._value({})
            if self._take(",]") == "]":
                return

    def _object(self) -> Iterator[dict[str, Any]]:
        said: dict[str, Any] = {}
        if self._next() == "}":
            self._at += 1
            return
        while True:
            whole, key = self._decoded()
            if not whole or not isinstance(key, str):
                raise ValueError("it is cut short")
            self._take(":")
            if key == "stream" or self._next() not in "[{":
                whole, said[key] = self._decoded()
                if not whole:
                    raise ValueError("it is cut short")
            else:
                yield from self._value(said)
            if self._take(",}") == "}":
                return
