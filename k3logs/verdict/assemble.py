"""The decision -> the verdict: root, other candidates, ranks, consequences, what to do, and one sentence that answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from k3logs import __version__
from k3logs.clocks.when import Times
from k3logs.events.digest import Digest
from k3logs.events.record import Event
from k3logs.identity.cast import Cast
from k3logs.incidents.decide import Decision, Scene
from k3logs.incidents.failure import Failure
from k3logs.incidents.phase import Mark, furthest
from k3logs.model import Action, ClockOffset, Consequence, Coverage, Finding, RankState, Run, Suspect, Verdict
from k3logs.reports.words import counted
from k3logs.verdict.confidence import confidence
from k3logs.verdict.environment import differences, environment
from k3logs.verdict.sentence import sentence
from k3logs.verdict.suspect import suspect

if TYPE_CHECKING:
    from k3logs.signatures.catalog import Catalog

MAX_OTHERS = 5

_ONE = {
    "requests failed while the server lived": "request failed while the server lived",
    "error records that ended nothing": "error record that ended nothing",
    "errors after which their process went on": "error after which its process went on",
}
"""Findings of one, in words."""

_ROUTES = {
    "container": "before_python", "container_runtime": "before_python", "image": "import_or_dependency", "dependency": "import_or_dependency",
    "configuration": "import_or_dependency", "memory": "memory_or_loading", "model_weights": "memory_or_loading", "storage": "memory_or_loading",
    "cache": "cache", "network": "ranks_and_transport", "interconnect": "ranks_and_transport", "communication": "ranks_and_transport",
    "gpu_hardware": "hardware", "request": "request", "external": "stopped", "host_driver": "before_python",
}


def assemble(decision: Decision, scene: Scene, digests: Sequence[Digest], events: Sequence[Event], catalog: Catalog, marks: Sequence[Mark],
             running: tuple[set[int], set[int]], notices: list[str]) -> Verdict:
    """Build the verdict of one triage."""
    cast, times, choice = scene.cast, scene.times, decision.choice
    root = suspect(choice.root, choice, digests, cast, times, marks, running, scene.failures, leads=True) if choice.root is not None and decision.outcome != "no_failure" else None
    if root is None and decision.outcome == "failure":
        root = _stop(scene, choice.why, choice.rule, digests, marks)
    others = [suspect(f, choice, digests, cast, times, marks, running, scene.failures, leads=False) for f in choice.others[:MAX_OTHERS] if f.role not in ("cascade", "teardown")]
    if root is not None and root.signature is None and choice.root is not None and choice.root.observed:
        from k3logs.signatures.resembles import resembles

        if (likeness := resembles(catalog, choice.root.text)) is not None:
            root.why.append(likeness)
    facts = environment(digests, events, cast)
    ranks = _ranks(scene, choice.root if (choice.blames or choice.kind == "spmd") and choice.rule != "cascade.only" else None, root, marks, decision.outcome)
    coverage = _coverage(digests, notices)
    verdict = Verdict(
        version=__version__,
        outcome=decision.outcome,  # type: ignore[arg-type]
        sentence="",
        root_cause=root,
        alternatives=others,
        ranks=ranks,
        clocks=_clocks(cast, times),
        consistency=differences(facts),
        environment=facts,
        actions=_actions(root, catalog),
        findings=[Finding(kind, counted(len(found), _ONE.get(text, text), text), [f"{digests[f.event.source].source.name}:{f.line}" for f in found[:5]]) for kind, text, found in decision.findings],
        missing=decision.missing if root is None or root.confidence < 0.8 or root.category == "unknown" else [],
        coverage=coverage,
        route=_route(root, decision),
        runs=[Run(0, None, None, decision.outcome, furthest(marks) or "unknown", True)],
        consequences=_consequences(scene.failures, digests, choice.root),
    )
    verdict.sentence = sentence(verdict, choice)
    return verdict


def _route(root: Suspect | None, decision: Decision) -> str:
    if root is None:
        return "request" if any(kind == "request_errors" for kind, _, _ in decision.findings) and decision.outcome == "no_failure" else "none"
    if root.phase == "container":
        return "before_python"
    return _ROUTES.get(root.category, "none")


def _stop(scene: Scene, why: list[str], rule: str, digests: Sequence[Digest], marks: Sequence[Mark]) -> Suspect | None:
    """A stop during start-up as the root: nothing failed by itself."""
    if not scene.stops:
        return None
    stop = min(scene.stops, key=lambda s: s.low)
    digest = digests[stop.source]
    place = int(digest.rows["line"].search_sorted(stop.line))
    raw, message = digest.rows["raw"][place], digest.rows["message"][place]
    phases = [m.phase for m in marks if m.source == stop.source and m.line < stop.line]
    return Suspect(None, [], scene.cast.source_node.get(stop.source), None, None, None, None, None, digest.source.name, stop.line, raw, message, None, None,
                   "initiating", phases[-1] if phases else "unknown", "external", confidence(rule, []), why)


def _ranks(scene: Scene, failure: Failure | None, root: Suspect | None, marks: Sequence[Mark], outcome: str) -> list[RankState]:
    """One row per process that printed or was named."""
    quiet = "healthy" if outcome == "no_failure" else "unknown"
    serving = (root.phase if root is not None else scene.reached) == "serving"
    first: dict[int, Failure] = {}
    for f in sorted(scene.failures, key=lambda f: (f.low, f.line)):
        if f.process is not None and f.role in ("initiating", "cascade", "symptom", "loud"):
            first.setdefault(f.process.id, f)
    rows = []
    for p in scene.cast.processes:
        if p.rank is None and not p.name and not p.sources:
            continue
        told = first.get(p.id)
        is_root = root is not None and (p.rank is not None and (p.rank == root.rank or p.rank in root.ranks) or failure is not None and failure.process is p and failure.victim_rank is None)
        state = "root" if is_root and (failure is None or failure.observed) else "silent" if is_root else "victim" if told else "log_missing" if not p.sources else quiet
        phase = root.phase if root is not None and is_root else "serving" if serving else furthest([m for m in marks if m.process == p.id])
        seen = scene.last_seen.get(p.rank) if p.rank is not None else None
        rows.append(RankState(p.rank, p.node, p.name, p.pid, state, phase or "unknown", told.text.split("\n")[0][:200] if told else None,
                              int(seen * 1e9) if seen is not None and abs(seen) != float("inf") else None, dict(p.parallel)))
    for rank in range(scene.cast.world or 0) if (scene.cast.world or 0) <= 4096 else []:
        if rank not in scene.cast.by_rank:
            rows.append(RankState(rank, None, None, None, "log_missing" if root is None or root.rank != rank else "never_joined", "unknown"))
    return sorted(rows, key=lambda r: (r.rank is None, r.rank or 0, r.process or ""))


def _consequences(failures: Sequence[Failure], digests: Sequence[Digest], root: Failure | None) -> list[Consequence]:
    """Consequences, counted by what they are."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for f in failures:
        if f.role in ("cascade", "teardown", "symptom") and f is not root:
            groups.setdefault((f.signature.title if f.signature else f.text.split("\n")[0][:80], "teardown" if f.role == "teardown" else "cascade"), []).append(f)
    rows = []
    for (title, role), found in groups.items():
        ranks = sorted({f.process.rank for f in found if f.process and f.process.rank is not None})
        first = min(found, key=lambda f: (f.low, f.line))
        rows.append(Consequence(title, role, sum(1 + len(f.copies) for f in found), ranks, digests[first.event.source].source.name, first.line))  # type: ignore[arg-type]
    return sorted(rows, key=lambda c: -c.count)


def _actions(root: Suspect | None, catalog: Catalog) -> list[Action]:
    signature = catalog.by_id(root.signature) if root is not None and root.signature else None
    if root is None or signature is None:
        return []
    place = f"{root.source}:{root.line}"
    return [Action(a.do, a.when, [place], list(a.collect), list(a.avoid)) for a in signature.actions]


def _clocks(cast: Cast, times: Times) -> list[ClockOffset]:
    rows = []
    for node, number in times.node_number.items():
        found = times.solution.offsets[number] if times.solution else None
        if found is not None:
            zones = [times.clocks[s].zone / 3600 for s, n in cast.source_node.items() if n == node and times.clocks[s].zone_known]
            rows.append(ClockOffset(node, _round(found.offset), _round(found.low), _round(found.high), found.anchors, zones[0] if zones else None))
    return rows


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _coverage(digests: Sequence[Digest], notices: list[str]) -> Coverage:
    coverage = Coverage(sources=len(digests), notices=list(notices))
    for digest in digests:
        coverage.lines += digest.lines
        coverage.bytes += digest.bytes
        coverage.parsed_lines += digest.parsed
        coverage.notices += [f"{digest.source.name}: {n}" for n in digest.notices]
        for name, count in digest.by_dialect.items():
            coverage.by_dialect[name] = coverage.by_dialect.get(name, 0) + count
    return coverage
