"""A scene: nodes with wrong clocks, the lines they print at true times, and the truth about them.

True time is in seconds after ``EPOCH``. Every stamp inside a line is made from the node's own clock, so a skewed
node is skewed in all its emitters alike, and the files come out in the order in which that node saw its lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

EPOCH = datetime(2026, 8, 5, 9, 30, 0, tzinfo=UTC)

Wrap = Callable[["Node", "Line"], str]


@dataclass(frozen=True)
class Line:
    """One physical line: true time of the write (s), order of writing, stream name, text without its end."""

    at: float
    order: int
    stream: str
    text: str


@dataclass
class Node:
    """A host. ``skew`` s is added to true time, ``zone`` h is what its containers print, ``phase`` s belongs to c10 stamps."""

    name: str
    address: str
    skew: float = 0.0
    zone: float = 0.0
    phase: float = 0.2391
    booted: float = -345678.0
    lines: list[Line] = field(default_factory=list)

    def wall(self, at: float) -> datetime:
        """UTC as this node's clock shows it at true time ``at``."""
        return EPOCH + timedelta(seconds=at + self.skew)

    def local(self, at: float) -> datetime:
        """The same in the zone of the containers, for emitters that print no zone."""
        return self.wall(at).astimezone(timezone(timedelta(hours=self.zone)))

    def say(self, at: float, text: str, stream: str = "stdout") -> None:
        """Write ``text`` (its line feeds separate physical lines) at true time ``at``."""
        for piece in text.split("\n"):
            self.lines.append(Line(at, len(self.lines), stream, piece))

    def in_order(self, stream: str | None = None) -> list[Line]:
        """Lines by time of writing, no two at one instant; ``stream`` None means all but the kernel's."""
        wanted = (x for x in self.lines if (x.stream == stream if stream else x.stream != "kernel"))
        out: list[Line] = []
        for line in sorted(wanted, key=lambda x: (x.at, x.order)):
            out.append(replace(line, at=max(line.at, out[-1].at + 2e-6 if out else line.at)))
        return out


@dataclass
class Scene:
    """Files (name -> text) and the truth of ``incident.toml``; ``clocks`` are the skews (s) where they matter."""

    what: str
    truth: dict[str, object]
    versions: dict[str, str]
    how: str
    clocks: dict[str, float] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    slug: str = ""

    def add(self, name: str, node: Node, wrap: Wrap, stream: str | None = None) -> None:
        """Keep the lines of ``node`` as file ``logs/<name>``, each as ``wrap`` shows it."""
        self.files[name] = "".join(wrap(node, line) + "\n" for line in node.in_order(stream))

    def add_text(self, name: str, text: str) -> None:
        """Keep a snapshot (command output) beside the logs."""
        self.files[name] = text

    def write(self, out: Path) -> None:
        """Write ``incident.toml`` and ``logs/`` below ``out``; other files there are left alone."""
        (out / "logs").mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            path = out / "logs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        (out / "incident.toml").write_text(self.toml(), encoding="utf-8")

    def toml(self) -> str:
        """The text of ``incident.toml``."""
        provenance: dict[str, object] = {
            "class": "rendered",
            "made_with": f"python -m tests.render {self.slug} corpus/{self.slug}",
            "versions": self.versions,
            "how": self.how,
            "date": "2026-11-30",
        }
        head = [f"what = {_value(self.what)}", "", "[truth]", *_pairs(self.truth), "", "[provenance]", *_pairs(provenance)]
        if self.clocks:
            head += ["", "# seconds that a node's clock is ahead of true time", "[clocks]", *_pairs(dict(self.clocks))]
        return "\n".join(head) + "\n"


def _pairs(table: dict[str, object]) -> Iterable[str]:
    return (
        f"{key if key.replace('-', '').replace('_', '').isalnum() else json.dumps(key)} = {_value(value)}" for key, value in table.items()
    )


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)
