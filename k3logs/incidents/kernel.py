"""What the kernel reports: which of it has to do with this deployment, and which rank it is about."""

from __future__ import annotations

from collections.abc import Sequence

from k3logs.clocks.when import Times
from k3logs.events.digest import Digest
from k3logs.events.stamps import has_zone
from k3logs.identity.cast import Cast
from k3logs.identity.facts import Fact
from k3logs.incidents.alive import KERNEL, NOTICED, Sign
from k3logs.incidents.crash import rank_of
from k3logs.incidents.failure import Failure

ECHO = 120.0
"""Seconds within which a process's error follows the kernel's report of its GPU, its memory or its kill."""

FAR, FAR_OF_TIMEOUT = 600.0, 7200.0
"""Seconds before the first trouble of the deployment beyond which a kernel's report is another story; time-outs come late."""

_NO_ROLE = frozenset({"teardown", "benign", "handled", "request"})
_TITLED = "vllm"
"""What vLLM calls its processes itself (vllm/utils/system_utils.py): no other program is called so."""
_PATHS = frozenset({"network", "interconnect", "communication"})
_OURS = ("vllm", "python", "ray", "pt_", "torchrun", "sglang")
"""How processes of a deployment are called in the kernel's words, cut to 15 characters."""


def is_kernel(failure: Failure) -> bool:
    """Whether the kernel printed it."""
    return failure.id is not None and failure.id.startswith(KERNEL)


def rezone(failures: Sequence[Failure], digests: Sequence[Digest], times: Times) -> None:
    """Move a kernel log without a zone by whole hours, where only then trouble follows right after its reports.

    ``dmesg -T`` and syslog print the host's local time; the containers' logs are in UTC.
    """
    own = [f.low for f in failures if not is_kernel(f) and f.role not in _NO_ROLE and f.low != float("-inf")]
    by_source: dict[int, list[Failure]] = {}
    for f in failures:
        known = digests[f.event.source].headers.known[f.event.anchor.header]
        if is_kernel(f) and f.low != float("-inf") and not times.clocks[f.event.source].zone_known and known.stamp and not has_zone(known.stamp):
            by_source.setdefault(f.event.source, []).append(f)
    for reports in by_source.values():
        fits = {hours: sum(any(0.0 <= low - (k.low + hours * 3600.0) + 1.0 <= ECHO for low in own) for k in reports) for hours in range(-14, 15)}
        best = [hours for hours, count in fits.items() if count == max(fits.values())]
        if not fits[0] and len(best) == 1:
            for k in reports:
                k.low, k.high = k.low + best[0] * 3600.0, k.high + best[0] * 3600.0
                k.reasons.append(f"its clock is taken to be {abs(best[0])} h {'behind' if best[0] > 0 else 'ahead of'} the deployment's zone: trouble follows right after it then")
                k.doubts.append("zone taken")


def set_aside(failures: Sequence[Failure], signs: Sequence[Sign], facts: Sequence[Fact], cast: Cast, digests: Sequence[Digest]) -> None:
    """Reports that have nothing to do with the incident: long before it, of other processes, or while the deployment went on."""
    printed = {id(f) for f in failures if is_kernel(f) or (digests[f.event.source].headers.known[f.event.anchor.header].dialect or "").startswith("kernel")}
    reports = [f for f in failures if id(f) in printed and f.role not in _NO_ROLE]
    own = [f for f in failures if id(f) not in printed and f.role not in _NO_ROLE]
    began = min((f.low for f in own if f.low != float("-inf")), default=None)
    buses = _buses(facts, cast)
    died = any({"exit_code", "worker", "signal"} & set(f.fields) for f in own)
    works = max((s.when for s in signs if s.when is not None and s.when != float("inf")), default=None)
    far = FAR_OF_TIMEOUT if any(f.role == "symptom" for f in own) else FAR
    for k in reports:
        told = rank_of(k) is not None or (k.node, _bus(k.fields.get("bdf", ""))) in buses
        if k.low == float("-inf") and k.high == float("inf"):
            if any(f.role in ("initiating", "first") for f in own) and not told:
                _aside(k, "it has no time, and another failure has")
        elif began is not None and began - k.high > far:
            _aside(k, f"it is {(began - k.high) / 60:.0f} minutes older than the first trouble of the deployment")
        elif works is not None and works > k.high + NOTICED and rank_of(k) is None and not any(-5.0 <= f.low - k.high <= ECHO for f in own):
            _aside(k, "the deployment still served after it")
        elif not told and _of_another_process(k) and (own or works is not None):
            _aside(k, "it is about a process of another program")
        elif not told and _is_kill(k) and not died and not _killed(k).startswith(_TITLED) and any(f.role in ("initiating", "first") and f.event.chain for f in own):
            _aside(k, "no process of the deployment died without a word")
        elif not told and _category(k) in _PATHS and any(f.role in ("initiating", "first") and f.event.chain for f in own) \
                and not any(f.role in ("initiating", "first", "symptom") and _category(f) in _PATHS for f in own):
            _aside(k, "no failure of a connection followed")


def _aside(failure: Failure, why: str) -> None:
    failure.role = "handled"
    failure.reasons.append(why)


def _of_another_process(k: Failure) -> bool:
    """Whether a report of a killed process names one that no deployment has."""
    name = _killed(k)
    return bool(name) and not name.startswith(_OURS)


def _killed(k: Failure) -> str:
    """The name of the process that was killed, in lower case; empty where the line has none."""
    return (k.text.partition("Killed process ")[2].partition("(")[2].partition(")")[0] or k.text.partition(",task=")[2].partition(",")[0]).lower()


def _category(f: Failure) -> str:
    return f.signature.category if f.signature is not None else ""


def _is_kill(k: Failure) -> bool:
    """Whether the kernel reports that it killed a process, for want of memory."""
    return "Killed process " in k.text or "oom-kill:" in k.text


def name_hardware(candidates: Sequence[Failure], facts: Sequence[Fact], cast: Cast) -> None:
    """Find the rank that a kernel's report without one is about; the errors of that rank right after it follow from it.

    Args:
        witnesses: consequences, which say which ranks of the node are in trouble, too.

    The GPU's bus address leads to the rank that opened it; else the only rank of the node that failed right after is meant.
    """
    buses = _buses(facts, cast)
    for k in candidates:
        if not is_kernel(k) or _is_kill(k):
            continue
        rank = rank_of(k)
        if rank is None and (bus := _bus(k.fields.get("bdf", ""))) and (k.node, bus) in buses:
            rank = k.victim_rank = buses[k.node, bus]
            k.reasons.append(f"rank {rank} opened the GPU at this bus address")
        echoes = [c for c in candidates if c is not k and not is_kernel(c) and rank_of(c) is not None and _node_of(c, cast) == k.node and -5.0 <= c.low - k.low <= ECHO]
        ranks = {rank_of(c) for c in echoes}
        direct = {rank_of(c) for c in echoes if _of_its_gpu(c)}
        if rank is None and len(ranks) == 1:
            rank = k.victim_rank = ranks.pop()
            k.reasons.append(f"rank {rank} is the only one of {k.node} that failed right after it")
            k.doubts.append("rank by elimination")
        elif rank is None and len(direct) == 1:
            rank = k.victim_rank = direct.pop()
            k.reasons.append(f"rank {rank} is the only one of {k.node} whose own GPU failed right after it")
            k.doubts.append("rank by elimination")
        for c in echoes:
            if rank_of(c) == rank:
                c.role = "cascade"
                c.reasons.append("the kernel reported the cause before it")


def name_killed(candidates: Sequence[Failure], failures: Sequence[Failure], cast: Cast) -> None:
    """The rank of a process that the kernel killed: by its pid on that node, else the node's only rank that told nothing."""
    fullest: dict[tuple[str | None, str], Failure] = {}
    for k in [c for c in candidates if is_kernel(c)]:
        about = f"{k.id} {k.fields.get('peer_pid', '')} {_bus(k.fields.get('bdf', ''))}"
        other = fullest.setdefault((k.node, about), k)
        if other is not k and abs(other.low - k.low) < 1.0 and rank_of(other) == rank_of(k):
            less = other if len(k.fields) > len(other.fields) else k
            fullest[k.node, about] = k if less is other else other
            less.role = "cascade"
            less.reasons.append("another line tells more of the same report")
    told = {f.process.rank for f in failures if f.process is not None and f.role not in ("benign", "handled", "request")}
    for k in candidates:
        if not is_kernel(k) or rank_of(k) is not None or not k.fields.get("peer_pid", "").isdigit():
            continue
        process = cast.by_pid.get((k.node or "", int(k.fields["peer_pid"])))
        here = [p for p in cast.processes if p.node == k.node and p.rank is not None]
        silent = [p for p in here if p.rank not in told]
        if process is not None and process.kind in ("worker", "engine"):
            k.process = process
            k.reasons.append(f"{process.label} has this pid on {k.node}")
        elif len(dead := {rank_of(c) for c in candidates if not c.observed and rank_of(c) is not None and _node_of(c, cast) == k.node and -5.0 <= c.low - k.low <= ECHO}) == 1:
            k.victim_rank = dead.pop()
            k.reasons.append(f"the death of rank {k.victim_rank} is reported right after it")
        elif len(silent) == 1 and len(here) > 2:
            k.victim_rank = silent[0].rank
            k.reasons.append(f"rank {k.victim_rank} is the only one of {k.node} that told nothing")
            k.doubts.append("rank by elimination")
        for c in candidates:
            if c is not k and not c.observed and rank_of(k) is not None and rank_of(c) == rank_of(k) and -5.0 <= c.low - k.low <= ECHO:
                c.role = "cascade"
                c.reasons.append("the kernel killed this process before its death was noticed")


def _of_its_gpu(c: Failure) -> bool:
    """Whether an error is of the process's own GPU, not of a library that speaks of others."""
    return "CUDA error" in c.text and "NCCL" not in c.text


def _node_of(c: Failure, cast: Cast) -> str | None:
    """The node of the rank that a failure blames: not of the one that tells of it."""
    if c.victim_rank is not None and (victim := cast.ranked(c.victim_rank, c.node)) is not None and victim.node is not None:
        return victim.node
    return c.victim_node or c.node


def _buses(facts: Sequence[Fact], cast: Cast) -> dict[tuple[str | None, str], int]:
    """``(node, NCCL's busId)`` -> rank, from NCCL's init lines (src/init.cc)."""
    found = {}
    for fact in facts:
        process = cast.of_header.get((fact.source, fact.header))
        if fact.kind == "nccl_init" and (bus := str(fact.values.get("bus_id") or "")) and process is not None and process.rank is not None:
            found[cast.header_node.get((fact.source, fact.header)) or process.node, bus] = process.rank
    return found


def _bus(bdf: str) -> str | None:
    """NCCL's busId of a PCI address: ``0000:9b:00`` is ``9b000`` (src/misc/utils.cc, busIdToInt64)."""
    digits = bdf.partition(".")[0].replace(":", "") + "0"
    try:
        return f"{int(digits, 16):x}"
    except ValueError:
        return None
