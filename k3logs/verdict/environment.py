"""Versions and settings that the logs print, and where ranks or nodes differ in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from k3logs.events.digest import Digest
from k3logs.events.record import Event
from k3logs.grammar.message import parse_message
from k3logs.identity.cast import Cast
from k3logs.model import Difference, Fact

_AFTER = (
    ("vllm_version", "vLLM API server version "), ("vllm_version", "vLLM server version "), ("nccl_version", "NCCL version "), ("nccl_version", "vLLM is using nccl=="),
    ("cuda_driver_version", "cudaDriverVersion "), ("network", "Using network "),
)
"""Fact -> the words before its value (vllm/entrypoints, nccl/src/init.cc, nccl/src/misc/cudawrap.cc)."""

_COMPARED = {"vllm_version": "error", "nccl_version": "error", "cuda_driver_version": "warning", "network": "error"}
"""Facts that have to be the same everywhere, and how bad it is if they are not."""

_MOST = 50
"""Places kept per fact and value."""


def environment(digests: Sequence[Digest], events: Sequence[Event], cast: Cast) -> dict[str, list[Fact]]:
    """Facts by name, each value with where it was read."""
    found: dict[str, list[Fact]] = {}
    seen: dict[tuple[str, str, str | None], int] = {}
    for event in events:
        if event.chain:
            continue
        for name, value in _read(event.text):
            node = cast.node_of_event(event)
            key = (name, str(value), node)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= (_MOST if name != "args" else 4):
                process = cast.of_event(event)
                found.setdefault(name, []).append(Fact(value, node, process.rank if process else None, digests[event.source].source.name, event.first.number))
    return found


def _read(text: str) -> Iterator[tuple[str, Any]]:
    for name, words in _AFTER:
        if words in text:
            value = text.partition(words)[2].split(maxsplit=1)
            if value and value[0][:1].isalnum():
                yield name, value[0].rstrip(".,;:")
    if "LLM engine (v" in text:
        yield "vllm_version", text.partition("LLM engine (v")[2].partition(")")[0]
    if "non-default args: {" in text and (args := parse_message("config_repr", text)) is not None:
        yield "args", args


def differences(found: dict[str, list[Fact]]) -> list[Difference]:
    """Facts that are not the same on all nodes, or not on all ranks of one log."""
    rows = []
    for name, severity in _COMPARED.items():
        values: dict[str, list[str]] = {}
        for fact in found.get(name, []):
            where = fact.node or (f"rank {fact.rank}" if fact.rank is not None else fact.source)
            if where not in (places := values.setdefault(str(fact.value), [])):
                places.append(where)
        if len(values) > 1:
            rows.append(Difference(name, severity, values))  # type: ignore[arg-type]
    return rows
