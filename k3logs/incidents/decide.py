"""Nothing, a stop, a crash, a hang, or a failure of all: decide the kind first, then who was first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from k3logs.clocks.when import Times
from k3logs.identity.cast import Cast
from k3logs.identity.facts import Fact
from k3logs.incidents import consequences, crash, deaths, hang, kernel
from k3logs.incidents.alive import Sign, stalled
from k3logs.incidents.blame import name_by_next, name_reported, odd_communicator, peer_of_all, rank_in_text, silent_at_address
from k3logs.incidents.crash import Choice
from k3logs.incidents.exits import Exit
from k3logs.incidents.failure import Failure
from k3logs.incidents.fingerprint import fingerprint
from k3logs.incidents.milestones import lagging
from k3logs.incidents.roles import Stop
from k3logs.incidents.runs import Attempts, leading

_STARTING = frozenset({"device_init", "distributed_init", "weight_load", "memory_profile", "compile", "kv_cache", "graph_capture"})
"""Phases in which a vLLM log that just ends has stalled, or is cut."""


PATH = "link and switch counters of the nodes that accuse each other, and dmesg -T of all of them"

SIGN = 20
"""Specificity up to which a symptom only says that something failed, as a health check does."""


@dataclass(slots=True)
class Decision:
    """The outcome with the choice behind it."""

    outcome: str
    choice: Choice
    missing: list[str] = field(default_factory=list)
    findings: list[tuple[str, str, list[Failure]]] = field(default_factory=list)


@dataclass(slots=True)
class Scene:
    """All that a decision rests on."""

    failures: list[Failure]
    cast: Cast
    times: Times
    stops: list[Stop]
    reached: str | None
    known: bool
    collectives: list[hang.Collective]
    last_seen: dict[int, float]
    exits: list[Exit]
    vllm: bool
    attempts: Attempts
    facts: Sequence[Fact]
    signs: Sequence[Sign] = ()
    milestones: Mapping[int, frozenset[str]] = field(default_factory=dict)


def lead(scene: Scene) -> list[Failure]:
    """The failures of the attempt that the verdict is about."""
    several = {source for source, starts in scene.attempts.starts.items() if len(starts) > 1}
    failing = sorted({f.attempt for f in scene.failures if f.event.source in several and f.role in ("initiating", "symptom", "cascade")})
    served = sorted({attempt for (_, attempt), phase in scene.attempts.reached.items() if phase == "serving"})
    leader = leading(failing, served)
    return scene.failures if leader is None else [f for f in scene.failures if f.attempt == leader or f.event.source not in several]


def decide(scene: Scene) -> Decision:
    """Choose the outcome and the root."""
    by_role: dict[str, list[Failure]] = {}
    for f in lead(scene):
        by_role.setdefault(f.role, []).append(f)
    deaths.settle(by_role, scene.failures, scene.exits, scene.cast)
    candidates = by_role.get("initiating", [])
    if any(waits(s) for s in by_role.get("symptom", [])):
        # a stop from outside that follows time-outs ends a hang; it did not cause it
        candidates = [c for c in candidates if category(c) != "external" or not any(s.low < c.low for s in by_role["symptom"])]
    symptoms = [s for s in by_role.get("symptom", []) if waits(s)]
    if not candidates:
        # a time-out that names no wait is an error of its own where nothing else failed
        own = [s for s in by_role.get("symptom", []) if not waits(s)]
        if own and lagging(scene.milestones) is not None and all(crash.rank_of(s) is None for s in own):
            symptoms, own = [*symptoms, *own], []  # the front end gave up waiting for a rank
        candidates = [s for s in own if s.specificity > SIGN] or ([] if symptoms or by_role.get("cascade") else own)
    findings = [("request_errors", "requests failed while the server lived", by_role["request"])] if "request" in by_role else []
    if "handled" in by_role:
        findings.append(("handled_errors", "errors that the deployment survived", by_role["handled"]))
    if candidates and symptoms and all(crash.rank_of(c) is None for c in candidates):
        _name(candidates, hang.choose(symptoms, [], scene.collectives, scene.cast, scene.last_seen, scene.milestones), scene.cast)
    candidates = _without_echoes(candidates, by_role.get("cascade", []))
    kernel.name_hardware(candidates, scene.facts, scene.cast)
    kernel.name_killed(candidates, scene.failures, scene.cast)
    deaths.name_crashes(candidates)
    name_by_next(candidates)
    candidates = [c for c in candidates if c.role in ("initiating", "symptom")]
    if candidates:
        for c in candidates:
            name_reported(c, scene.cast)
            if crash.rank_of(c) is None and (said := rank_in_text(c)) is not None and said < (scene.cast.world or said + 1):
                c.victim_rank = said
                c.reasons.append(f"its own words name rank {said}")
                c.doubts.append("rank from words")
        if (odd := odd_communicator(scene.facts, scene.cast)) is not None and all(category(c) in _CONFIGURED for c in candidates):
            first = min(candidates, key=lambda c: (c.low, c.line))
            first.victim_rank, first.victim_node = odd[0], odd[1]
            choice = crash.choose(candidates, scene.times, scene.cast.world, scene.exits, scene.cast.ranks)
            choice.rule, choice.why = "crash.odd_size", [odd[2]]
            return Decision("failure", choice, findings=findings)
        if (silent := silent_at_address(scene.failures, scene.cast)) is not None and all(c.role == "symptom" for c in candidates):
            return Decision("failure", _silent(candidates, silent, scene), ["the log of the silent rank to its end", f"dmesg -T of {silent[1]}"], findings)
        if (alike := _all_ended(candidates, by_role.get("cascade", []), scene)) is not None:
            return Decision("failure", alike, findings=findings)
        choice = crash.choose(candidates, scene.times, scene.cast.world, scene.exits, scene.cast.ranks)
        if choice.root is not None and (target := peer_of_all(candidates, scene.cast)) is not None:
            # they say that a peer did not answer: none of them is the culprit
            nodes, why = target
            choice.rule, choice.why, choice.blames, choice.ranks = "pointer.peer" if len(nodes) == 1 else "pointer.path", [why], False, []
            if len(nodes) == 1:
                choice.root.victim_node = nodes[0]
                return Decision("failure", choice, [f"all logs of {nodes[0]}, and dmesg -T of it"], findings)
            choice.between = nodes
            return Decision("failure", choice, [PATH], findings)
        if choice.rule == "crash.all_ranks" and (waited := hang.named(symptoms)) is not None and waited not in choice.ranks:
            # all who failed alike had waited for one rank that told nothing
            choice = hang.choose(symptoms, [], scene.collectives, scene.cast, scene.last_seen, scene.milestones)
        return Decision("failure", choice, findings=findings)
    cascades, loud = by_role.get("cascade", []), by_role.get("loud", [])
    if symptoms:
        choice = hang.choose(symptoms, by_role.get("handled", []), scene.collectives, scene.cast, scene.last_seen, scene.milestones)
        outcome = "inconclusive" if choice.rule == "hang.unknown" else "failure"
        return Decision(outcome, choice, ["logs of all ranks, of all nodes", "stack dumps of all ranks while it hangs (py-spy dump --pid PID)"], findings)
    if cascades:
        return Decision("failure", consequences.choose(cascades, loud, scene.failures, scene.times, scene.cast), consequences.MISSING, findings)
    if scene.stops and scene.reached is not None and scene.reached not in ("serving", "shutdown"):
        return Decision("failure", Choice(None, "stop.start", ["it was told to stop before it served"], kind="stop"), findings=findings)
    if loud and not scene.known:
        choice = crash.choose(loud, scene.times, scene.cast.world)
        choice.penalties.append("an error record that no signature knows")
        return Decision("inconclusive", choice, ["the logs of the other processes"], findings)
    if loud:
        findings.append(("error_records", "error records that ended nothing", loud))
    if not scene.known:
        return Decision("inconclusive", Choice(None, "nothing", []), ["the log of the failed container itself (docker logs --timestamps NAME 2>&1)"], findings)
    if scene.reached == "serving" and not scene.stops and (hung := stalled(by_role.get("benign", []), scene.signs)):
        choice = hang.choose(hung, [], scene.collectives, scene.cast, scene.last_seen, scene.milestones)
        return Decision("inconclusive", choice, ["stack dumps of all ranks while it hangs (py-spy dump --pid PID)", "the rest of the log, if there is one"], findings)
    if scene.reached in _STARTING and not scene.stops and lagging(scene.milestones) is not None and (hung := stalled(by_role.get("benign", []), scene.signs)):
        choice = hang.choose(hung, [], scene.collectives, scene.cast, scene.last_seen, scene.milestones)
        return Decision("inconclusive", choice, ["stack dumps of all ranks while it hangs (py-spy dump --pid PID)", "the rest of the log, if there is one"], findings)
    if scene.reached in _STARTING and scene.vllm and not scene.stops:
        so_far = [f"the start-up came as far as {scene.reached} and the log ends there"]
        if (behind := lagging(scene.milestones)) is not None:
            so_far.append(f"rank {behind[0]} is the only one that did not print {behind[1]!r}")
        return Decision("inconclusive", Choice(None, "stalled", so_far, kind="hang"),
                        ["the rest of the log, if there is one", "stack dumps of all ranks (py-spy dump --pid PID)"], findings)
    return Decision("no_failure", Choice(None, "nothing", []), findings=findings)



_CONFIGURED = frozenset({"configuration", "communication", "network"})


def _all_ended(candidates: Sequence[Failure], cascades: Sequence[Failure], scene: Scene) -> Choice | None:
    """Every rank ended with an error code of its own, one error is all that anyone tells, and no rank tells that it lost another: all failed alike."""
    ended = sorted({e.process.rank for e in scene.exits if e.code > 0 and e.process.rank is not None})
    raised = [c for c in candidates if c.event.chain]
    told = any(f.signature is not None and f.signature.category in ("communication", "network") for f in cascades)
    if len(ended) <= crash.MANY or len(ended) < max(scene.cast.world or 0, len(scene.cast.ranks)) or told or len({fingerprint(c) for c in raised}) != 1 or len(raised) < len([c for c in candidates if c.observed]):
        return None
    first = min(raised, key=lambda c: (c.low, c.event.source, c.line))
    return Choice(first, "crash.all_ranks", [f"{len(ended)} ranks ended with an error code, and this is the only error that any of them tells"], ranks=ended, kind="spmd")


def _silent(candidates: list[Failure], silent: tuple[int, str, str], scene: Scene) -> Choice:
    """A rank that others cannot reach and that told nothing."""
    root = min(candidates, key=lambda c: (-c.specificity, c.low, c.line))
    root.victim_rank, root.victim_node, root.observed = silent[0], silent[1], False
    return Choice(root, "pointer.silent", [silent[2]], [c for c in candidates if c is not root], [], ["its end is not in the logs"], "crash")


def _without_echoes(candidates: list[Failure], cascades: list[Failure]) -> list[Failure]:
    """Drop errors of the engine or the server that nobody knows, where a worker had trouble before: they follow from it."""
    workers = [f for f in [*candidates, *cascades] if f.process is not None and f.process.kind == "worker"]
    kept = []
    for c in candidates:
        above = c.process is not None and c.process.kind in ("engine", "api")
        if above and c.signature is None and any(w.event.source == c.event.source and w.line < c.line and w is not c for w in workers):
            c.role = "cascade"
            c.reasons.append("a worker of this engine had failed before it")
            cascades.append(c)
        else:
            kept.append(c)
    return kept


def _name(candidates: list[Failure], hung: Choice, cast: Cast) -> None:
    """An error without a rank is that of the rank for which the others wait, if it is one rank."""
    rank = hung.root.victim_rank if hung.root is not None else None
    if rank is None or hung.rule == "hang.unknown":
        return
    process = cast.by_rank.get(rank)
    first = min(candidates, key=lambda c: (c.low, c.event.source, c.line))
    first.process, first.victim_rank = process or first.process, rank
    first.reasons.append(f"it names no rank; {hung.why[0]}")
    first.doubts.append("rank by elimination")



def category(f: Failure) -> str:
    """The category that the signature gives, empty where there is none."""
    return f.signature.category if f.signature is not None else ""


def waits(f: Failure) -> bool:
    """Whether a symptom says that its process waited in vain for others (else it is an error of its own)."""
    if f.signature is None:
        return False
    return bool({"missing_rank", "joined", "seq", "peer_rank"} & set(f.fields)) or f.signature.category == "communication" and f.signature.specificity <= 50



