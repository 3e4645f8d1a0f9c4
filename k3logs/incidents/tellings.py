"""Events -> failures: which of them tell of a failure, and what the catalogue says they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from k3logs.events.digest import Digest
from k3logs.events.record import Event
from k3logs.grammar.message import parse_message
from k3logs.identity.cast import Cast
from k3logs.incidents.failure import LOUD_SPECIFICITY, UNKNOWN_SPECIFICITY, Failure
from k3logs.signatures.match import claim, match

if TYPE_CHECKING:
    from k3logs.signatures.catalog import Catalog
    from k3logs.signatures.signature import Signature

QUOTING = ("Received request ", "Added request ", "Dumping input data", "Dumping scheduler output", "non-default args:", "args: Namespace(",
           "Initializing a V1 LLM engine", "Initializing a V0 LLM engine", "Initializing an LLM engine", "Route: /")
"""Records that begin so quote prompts, arguments or configuration; no word in them tells of a failure."""

_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL", "E", "F"})
_FATAL_FORMS = frozenset({"native.fatal", "native.terminate", "native.terminate_bare", "native.segfault_banner", "native.absl_signal",
                          "native.shell_signal", "native.glibc", "native.device_assert", "native.what"})
_WRAPPERS = ("WorkerProc hit an exception", "WorkerProc failed", "EngineCore failed to start", "EngineCore encountered a fatal error")


def tell(digests: Sequence[Digest], events: Sequence[Event], catalog: Catalog, cast: Cast) -> list[Failure]:
    """Failures among the events, in the order given; their roles are the most that the text alone says."""
    wanted: list[tuple[Event, int]] = []
    texts: list[str] = []
    dialects: list[str] = []
    levels: list[str] = []
    for event in events:
        if event.text.startswith(QUOTING):
            continue
        header = digests[event.source].headers.known[event.first.header]
        for link in range(max(1, len(event.chain))):
            wanted.append((event, link))
            texts.append(event.chain[link].text if event.chain else event.text)
            dialects.append("python" if event.chain else header.dialect or "")
            levels.append("" if event.chain else header.level)
    hits = match(catalog, texts, dialects, levels)
    told: list[Failure] = []
    by_event: dict[int, list[tuple[int, str | None, dict[str, str]]]] = {}
    for (event, link), (id, fields) in zip(wanted, hits, strict=True):
        by_event.setdefault(id_of(event), []).append((link, id, fields))
    for event in events:
        found = by_event.get(id_of(event))
        if found is not None and (failure := _failure(event, found, digests, catalog, cast)):
            told.append(failure)
    return told


def id_of(event: Event) -> int:
    """A key for one event of one triage."""
    return id(event)


def _failure(event: Event, found: list[tuple[int, str | None, dict[str, str]]], digests: Sequence[Digest], catalog: Catalog, cast: Cast) -> Failure | None:
    header = digests[event.source].headers.known[event.first.header]
    process = cast.of_event(event)
    node = cast.node_of_event(event)
    if process is None and event.opening is not None and event.opening.form == "python.spawn_head" and (number := event.opening.message.split()[2]).isdigit():
        process = cast.add_rank(int(number), node)  # torch.multiprocessing.spawn: the index is the rank
    if event.chain:
        link, id, fields = _meaningful(event, found, catalog)
        if (head := claim(catalog, event.text.split("\n")[0])[0]) is not None and (known := catalog.by_id(head)) is not None and known.role == "benign" and known.quotes:
            return None  # a notice that shows the exception it got over
        signature = catalog.by_id(id) if id else None
        role = _role(signature) if signature else "initiating"
        return Failure(event, process, node, signature, fields, link, role, signature.specificity if signature else UNKNOWN_SPECIFICITY)
    _, id, fields = found[0]
    signature = catalog.by_id(id) if id else None
    if process is None and (xid := parse_message("xid", event.text)) is not None and str(xid.get("pid", "")).isdigit():
        process = cast.of_pid(int(xid["pid"]), node)  # the kernel gives the host's pid
    if signature:
        return Failure(event, process, node, signature, fields, 0, _role(signature), signature.specificity)
    if event.first.form in _FATAL_FORMS:
        return Failure(event, process, node, None, {}, 0, "initiating", UNKNOWN_SPECIFICITY)
    if event.open_frames and header.level in _LOUD:
        cut = Failure(event, process, node, None, {}, 0, "initiating", LOUD_SPECIFICITY)
        cut.reasons.append("its traceback is cut off before the exception")
        return cut
    if header.level in _LOUD and not event.text.startswith(_WRAPPERS) and event.text.strip():
        return Failure(event, process, node, None, {}, 0, "loud", LOUD_SPECIFICITY)
    if header.dialect == "nccl" and header.level == "WARN" and event.text.strip():
        return Failure(event, process, node, None, {}, 0, "loud", LOUD_SPECIFICITY + 10)
    return None


def _role(signature: Signature) -> str:
    if signature.role != "depends":
        return signature.role
    return "symptom" if signature.condition == "alone" else "first"


def _meaningful(event: Event, found: list[tuple[int, str | None, dict[str, str]]], catalog: Catalog) -> tuple[int, str | None, dict[str, str]]:
    """Which exception of a chain tells most: the first that says something, or that the catalogue knows.

    A torn connection is passed over where a later exception of the chain says whose it was.
    """
    known = {link: catalog.by_id(id) for link, id, _ in found if id is not None}
    for link, id, fields in found:
        mine = known.get(link)
        if mine is not None and mine.role == "cascade" and any(other is not None and after > link and other.role != "cascade" for after, other in known.items()):
            continue
        if id is not None or event.chain[link].message.strip():
            return link, id, fields
    return found[0]
