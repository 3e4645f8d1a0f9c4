"""What a collector puts round a line. Every function takes (node, line) and returns the line as it is found later."""

from __future__ import annotations

from datetime import datetime

from tests.render.scene import Line, Node, Wrap


def plain(node: Node, line: Line) -> str:
    """`docker logs` without -t, or a file."""
    return line.text


def _nanos(node: Node, line: Line, zulu: bool = True) -> str:
    # a container stamp is a read time: a little after the write
    when = node.wall(line.at + 0.00021)
    stamp = f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond * 1000 + line.order * 37 % 1000:09d}"
    return stamp + ("Z" if zulu else "+00:00")


def docker(node: Node, line: Line) -> str:
    """`docker logs --timestamps`: nine digits, always."""
    return f"{_nanos(node, line)} {line.text}"


def cri(node: Node, line: Line) -> str:
    """A file below /var/log/pods: stamp, stream, F."""
    stream = line.stream if line.stream in ("stdout", "stderr") else "stdout"
    return f"{_nanos(node, line)} {stream} F {line.text}"


def kubectl(pod: str, container: str, stamps: bool = False) -> Wrap:
    """`kubectl logs --prefix [--timestamps]`."""

    def wrap(node: Node, line: Line) -> str:
        stamp = f"{_nanos(node, line)} " if stamps else ""
        return f"[pod/{pod}/{container}] {stamp}{line.text}"

    return wrap


def compose(service: str, width: int = 0) -> Wrap:
    """`docker compose logs`, the name padded to the longest one."""

    def wrap(node: Node, line: Line) -> str:
        return f"{service:<{max(width, len(service))}} | {line.text}"

    return wrap


def journal(node: Node, line: Line) -> str:
    """`journalctl -k -o short`: no year, no zone, 1 s."""
    return f"{node.local(line.at):%b %d %H:%M:%S} {node.name} kernel: {line.text}"


def dmesg(node: Node, line: Line) -> str:
    """`dmesg`: seconds since boot."""
    return f"[{line.at - node.booted:12.6f}] {line.text}"


def short(when: datetime) -> str:
    """`MM-DD HH:MM:SS`, the stamp of a vLLM record."""
    return f"{when:%m-%d %H:%M:%S}"
