"""Logs as another collector would have kept them: the same lines in other wrappers, files and order.

A log is a list of lines that know where they stood first, so that a verdict on the changed logs can be traced back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """A line without its LF, and ``(file, number)`` of where it stood first; None for a line that was put in."""

    text: str
    origin: tuple[str, int] | None

    def changed(self, text: str) -> Line:
        return Line(text, self.origin)


Logs = dict[str, list[Line]]
Change = Callable[[Logs], Logs]

_OWN_STAMP = re.compile(r"^(\[pod/\S+\] )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z) (?:std(?:out|err) F )?")
_CLOCK = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)[ T_](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?")
_TAG = re.compile(r"(\([A-Za-z_0-9]+ (?:rank=\d+ )?pid=\d+\))")
_GLOG = re.compile(r"\b([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)\.(\d+)")
_SYSLOG = re.compile(r"^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) ")
_DMESG = re.compile(r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\]")
HOST_FILES = (".kern.log", ".nvidia-smi.txt")
"""Files that no container prints."""


def load(folder: Path) -> Logs:
    """The logs below a folder."""
    logs = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        logs[name] = [Line(line, (name, n)) for n, line in enumerate(text.removesuffix("\n").split("\n"), 1)]
    return logs


def dump(logs: Mapping[str, list[Line]]) -> dict[str, bytes]:
    """The bytes of each file."""
    return {name: "".join(line.text + "\n" for line in lines).encode("utf-8", "surrogateescape") for name, lines in logs.items()}


def of_container(name: str) -> bool:
    return not name.endswith(HOST_FILES)


def _each(logs: Logs, change: Callable[[str, list[str]], list[str]]) -> Logs:
    """Change the texts of every container's log, line by line."""
    out = dict(logs)
    for name, lines in logs.items():
        if of_container(name):
            out[name] = [line.changed(text) for line, text in zip(lines, change(name, [line.text for line in lines]), strict=True)]
    return out


def read_times(lines: list[str]) -> list[datetime]:
    """When a collector could have read each line: the stamp it has, else the latest that was printed so far, a little later each."""
    now, times = datetime(2026, 8, 5, 9, 0, 0), list[datetime]()
    first = next((m for line in lines if (m := _CLOCK.search(line))), None)
    if first is not None:
        now = datetime.fromisoformat(f"{first[1] or 2026}-{first[2]}-{first[3]} {first[4]}")
    for line in lines:
        if (found := _CLOCK.search(line)) is not None:
            printed = datetime.fromisoformat(f"{found[1] or 2026}-{found[2]}-{found[3]} {found[4]}") + timedelta(seconds=float(f"0.{found[5] or 0}"))
            if abs(printed - now) < timedelta(days=1):
                now = max(now, printed)
        now += timedelta(microseconds=3)
        times.append(now)
    return times


def _stamped(lines: list[str]) -> bool:
    return any(_OWN_STAMP.match(line) for line in lines)


def _stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S.%f}000Z"


def docker_t(logs: Logs) -> Logs:
    """``docker logs --timestamps`` of a container whose log has no stamps yet."""
    return _each(logs, lambda _, lines: lines if _stamped(lines) else [f"{_stamp(t)} {line}" for t, line in zip(read_times(lines), lines, strict=True)])


def _bare(lines: list[str]) -> tuple[list[str], list[str]]:
    """Stamps of lines, and the lines without them."""
    if not _stamped(lines):
        return [_stamp(t) for t in read_times(lines)], lines
    stamps, rest, last = list[str](), list[str](), "2026-08-05T09:00:00.000000000Z"
    for line in lines:
        found = _OWN_STAMP.match(line)
        last = found[2] if found else last
        stamps.append(last)
        rest.append(line[found.end() :] if found else line)
    return stamps, rest


def cri(logs: Logs) -> Logs:
    """As the kubelet's log files have it."""
    return _each(logs, lambda _, lines: [f"{stamp} stdout F {line}" for stamp, line in zip(*_bare(lines), strict=True)])


def _go_json(row: dict[str, str]) -> str:
    """As Go's encoder writes it."""
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def json_file(logs: Logs) -> Logs:
    """As Docker's json-file driver keeps it."""
    return _each(logs, lambda _, lines: [_go_json({"log": line + "\n", "stream": "stdout", "time": stamp}) for stamp, line in zip(*_bare(lines), strict=True)])


def compose(logs: Logs) -> Logs:
    """``docker compose logs``: the service with the number of its replica; one service is one host here."""
    return _each(logs, lambda name, lines: [f"{Path(name).name.split('.')[0]}-1  | {line}" for line in lines])


def crlf(logs: Logs) -> Logs:
    """Saved with Windows line ends."""
    return {name: [line.changed(line.text.removesuffix("\r") + "\r") for line in lines] for name, lines in logs.items()}


def ansi(logs: Logs) -> Logs:
    """Coloured process tags, as vLLM up to 0.12 prints them into files too."""
    return _each(logs, lambda _, lines: [line if "\x1b" in line else _TAG.sub("\x1b[0;36m\\1\x1b[0;0m", line, count=1) for line in lines])


def reordered(logs: Logs) -> Logs:
    """The files given the other way round."""
    return dict(reversed(list(logs.items())))


def blank_lines(logs: Logs) -> Logs:
    """Every blank line twice, and one more at both ends."""
    blank = Line("", None)
    return {name: [blank, *(each for line in lines for each in ([line, blank] if not line.text.strip() else [line])), blank] for name, lines in logs.items()}


def head_cut(logs: Logs) -> Logs:
    """The first ten lines of every container's log rotated away."""
    return {name: lines[10:] if of_container(name) and len(lines) > 20 else lines for name, lines in logs.items()}


def split_in_two(logs: Logs) -> Logs:
    """Each container's log cut in two files, before an ordinary record near its middle."""
    out: Logs = {}
    for name, lines in logs.items():
        stem, _, ending = name.rpartition(".")
        place = next((n for n in range(len(lines) // 2, len(lines)) if re.search(r"\bINFO\b", lines[n].text)), None)
        if not of_container(name) or place is None or "/" in name:
            out[name] = lines
            continue
        out[f"{stem}.1.{ending}"], out[f"{stem}.2.{ending}"] = lines[:place], lines[place:]
    return out


def node_of(name: str) -> str:
    """The host or pod that a file of the corpus is named after."""
    if name.startswith("pods/"):
        return name.split("/")[1].split("_")[1]
    return Path(name).name.split(".")[0]


def nodes_of(logs: Mapping[str, object]) -> list[str]:
    return sorted({node_of(name) for name in logs})


def renamed(logs: Logs) -> Logs:
    """All hosts and pods get other names, in files' names and in lines."""
    names = {node: f"q{chr(97 + n)}-{41 - n}" for n, node in enumerate(nodes_of(logs))}

    def other(text: str) -> str:
        for old, new in names.items():
            text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text) if "/" not in text else text.replace(old, new)
        return text

    return {other(name) if "/" not in name else name.replace(node_of(name), names[node_of(name)]): [line.changed(other(line.text)) for line in lines]
            for name, lines in logs.items()}  # fmt: skip


def _moved(text: str, seconds: int) -> str:
    by = timedelta(seconds=seconds)

    def glog(m: re.Match[str]) -> str:
        time = datetime.fromisoformat(f"2026-{m[2]}-{m[3]} {m[4]}") + by
        return f"{m[1]}{time:%m%d %H:%M:%S}.{m[5]}"

    def clock(m: re.Match[str]) -> str:
        time = datetime.fromisoformat(f"{m[1] or 2026}-{m[2]}-{m[3]} {m[4]}") + by
        return (f"{time:%Y-%m-%d}" if m[1] else f"{time:%m-%d}") + text[m.start(4) - 1] + f"{time:%H:%M:%S}" + text[m.end(4) : m.end()]

    def dmesg(m: re.Match[str]) -> str:
        return f"[{datetime.strptime(m[1], '%a %b %d %H:%M:%S %Y') + by:%a %b %e %H:%M:%S %Y}]"

    def syslog(m: re.Match[str]) -> str:
        return f"{datetime.strptime(f'2026 {m[1]}', '%Y %b %d %H:%M:%S') + by:%b %e %H:%M:%S} "

    moved = _SYSLOG.sub(syslog, _CLOCK.sub(clock, text))
    return _DMESG.sub(dmesg, _GLOG.sub(glog, moved))


def clock_moved(node: str, seconds: int) -> Change:
    """One node's clock is ``seconds`` ahead of what it was: every stamp printed or read there."""
    return lambda logs: {name: [line.changed(_moved(line.text, seconds)) for line in lines] if node_of(name) == node else lines for name, lines in logs.items()}


def without(file: str) -> Change:
    """One file was not collected."""
    return lambda logs: {name: lines for name, lines in logs.items() if name != file}
