"""What a labelled incident's truth says of a verdict: the same questions, answered the same way, as the project's scorer.

``[truth]`` in ``incident.toml``; what is absent is not asked::

    outcome      one, or a list of the accepted ones
    needles      the root's line must hold one of these
    rank, ranks_ok, all_ranks       a rank, any of these, or one failure on all ranks
    node, nodes_ok                  a node, or any of these
    phases_ok, categories_ok        accepted words
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

KEYS = ("outcome", "needles", "rank", "ranks_ok", "all_ranks", "node", "nodes_ok", "phases_ok", "categories_ok")
_LONGEST = 500
_KINDS = ("Error", "Exception", "Warning", "Exit", "Interrupt")


def misses(truth: Mapping[str, Any], verdict: Mapping[str, Any]) -> Iterator[str]:
    """What the verdict (the object of the contract) got wrong, in words; nothing where all is right."""
    root = verdict.get("root_cause") or {}
    if truth.get("outcome"):
        yield from _accepted("outcome", verdict.get("outcome"), _several(truth["outcome"]))
    needles = [needle for needle in truth.get("needles") or () if needle]
    if needles and not holds(root, needles):
        yield f"root line {str(root.get('message'))[:120]!r} holds none of {needles}"
    ranks = truth.get("ranks_ok") or ([truth["rank"]] if truth.get("rank") is not None else [])
    if truth.get("all_ranks"):
        if root.get("rank") is not None and len(root.get("ranks") or ()) <= 1:
            yield f"rank {root.get('rank')}, the truth says all ranks"
    elif ranks:
        yield from _accepted("rank", root.get("rank"), ranks)
    yield from _accepted("node", root.get("node"), truth.get("nodes_ok") or ([truth["node"]] if truth.get("node") else []))
    yield from _accepted("phase", root.get("phase"), truth.get("phases_ok") or [])
    yield from _accepted("category", root.get("category"), truth.get("categories_ok") or [])


def holds(suspect: Mapping[str, Any], needles: Sequence[str]) -> bool:
    """One of the needles stands in the suspect's line, message or exception, with or without the exception's type before it."""
    exception = suspect.get("exception") or {}
    says, kind = str(exception.get("message") or "")[:_LONGEST], str(exception.get("type"))
    texts = [str(suspect.get("raw") or "").split("\n")[0], str(suspect.get("message") or "")[:_LONGEST], says, f"{kind}: {says}",
             f"{kind.rpartition('.')[2]}: {says}"]  # fmt: skip
    return any(needle in text for needle in (*needles, *map(_bare, needles)) if needle for text in texts)


def _bare(needle: str) -> str:
    """``[rank3]: x.FooError: message`` without what stands before the message; empty where it is no such line or too short."""
    prefix, colon, rest = needle.partition("]: ")
    line = rest if colon and prefix.startswith("[rank") and prefix[5:].isdigit() else needle
    kind, colon, message = line.partition(": ")
    named = kind.endswith(_KINDS) and kind.replace(".", "").replace("_", "").isalnum()
    return message if colon and named and len(message) >= 12 else ""


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _accepted(what: str, got: Any, wanted: Sequence[Any]) -> Iterator[str]:
    if wanted and got not in wanted:
        yield f"{what} {got}, the truth says {' or '.join(map(str, wanted))}"
