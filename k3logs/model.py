"""What triage finds, as plain data. ``contract/verdict.schema.json`` (``k3logs.verdict/1``) is its JSON.

Times are nanoseconds since 1970 UTC on the reference clock, or None; offsets and durations are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["failure", "no_failure", "inconclusive"]
Role = Literal["initiating", "cascade", "teardown", "benign", "unknown"]

PHASES = ("container", "import", "config", "device_init", "distributed_init", "weight_load", "memory_profile", "compile", "kv_cache",
          "graph_capture", "serving", "shutdown", "unknown")
CATEGORIES = ("host_driver", "container_runtime", "image", "dependency", "configuration", "model_weights", "memory", "network", "interconnect",
              "communication", "gpu_hardware", "host", "storage", "application", "request", "cache", "external", "unknown")
ROUTES = ("before_python", "import_or_dependency", "memory_or_loading", "cache", "ranks_and_transport", "hardware", "request", "stopped", "none")


@dataclass(slots=True)
class ExceptionText:
    """An exception as printed: its type, message and frames (``file:line function``, outermost first)."""

    type: str
    message: str
    frames: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ContextLine:
    """A line near an evidence line; ``marked`` on the evidence line itself."""

    line: int
    text: str
    marked: bool = False


@dataclass(slots=True)
class Suspect:
    """One candidate for the root, with where it stands in the logs and why it is one.

    ``rule`` names the rule that decided; how often it is right stands in ``k3logs/verdict/data/rules.toml``.
    """

    rank: int | None
    ranks: list[int]
    node: str | None
    process: str | None
    pid: int | None
    time: int | None
    time_low: int | None
    time_high: int | None
    source: str
    line: int
    raw: str
    message: str
    exception: ExceptionText | None
    signature: str | None
    role: Role
    phase: str
    category: str
    confidence: float
    why: list[str]
    details: dict[str, Any] = field(default_factory=dict)
    stamp: str | None = None
    time_basis: Literal["known", "assumed", "none"] = "none"
    group: str | None = None
    fingerprint: str = ""
    title: str | None = None
    rule: str = ""
    context: list[ContextLine] = field(default_factory=list)


@dataclass(slots=True)
class RankState:
    """What one process was doing at the end."""

    rank: int | None
    node: str | None
    process: str | None
    pid: int | None
    state: str
    phase: str
    first_failure: str | None = None
    last_seen: int | None = None
    parallel: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class ClockOffset:
    """Seconds to subtract from a node's stamps to get reference time, with hard bounds."""

    node: str
    offset: float | None
    low: float | None
    high: float | None
    anchors: int
    utc_offset: float | None = None


@dataclass(slots=True)
class Difference:
    """A fact that is not the same everywhere: value -> nodes or ranks that have it."""

    fact: str
    severity: Literal["info", "warning", "error"]
    values: dict[str, list[str]]


@dataclass(slots=True)
class Fact:
    """One fact about the environment, with where it was read."""

    value: Any
    node: str | None
    rank: int | None
    source: str
    line: int
    vantage: str | None = None


@dataclass(slots=True)
class Action:
    """What to do, under which condition, on which evidence."""

    do: str
    when: str
    evidence: list[str]
    collect: list[str] = field(default_factory=list)
    avoid: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Finding:
    """Worth knowing although it is not the root."""

    kind: str
    message: str
    evidence: list[str]


@dataclass(slots=True)
class Consequence:
    """Lines set aside because they report the failure of another process: how many, of which ranks."""

    title: str
    role: Role
    count: int
    ranks: list[int]
    source: str
    line: int


@dataclass(slots=True)
class Run:
    """One attempt in a log that holds several."""

    index: int
    started: int | None
    ended: int | None
    outcome: str
    phase_reached: str
    leads: bool


@dataclass(slots=True)
class Coverage:
    """How much of the log was read and understood."""

    lines: int = 0
    bytes: int = 0
    parsed_lines: int = 0
    sources: int = 0
    notices: list[str] = field(default_factory=list)
    by_dialect: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Verdict:
    """The answer of ``triage``."""

    version: str
    outcome: Outcome
    sentence: str
    root_cause: Suspect | None
    alternatives: list[Suspect]
    ranks: list[RankState]
    clocks: list[ClockOffset]
    consistency: list[Difference]
    environment: dict[str, list[Fact]]
    actions: list[Action]
    findings: list[Finding]
    missing: list[str]
    coverage: Coverage
    route: str
    runs: list[Run]
    consequences: list[Consequence] = field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """0 no failure found, 1 failure found, 3 inconclusive."""
        return {"no_failure": 0, "failure": 1, "inconclusive": 3}[self.outcome]

    def to_json(self) -> dict[str, Any]:
        """The object of ``contract/verdict.schema.json``; secrets are masked in every text."""
        from k3logs.reports.contract import to_contract

        return to_contract(self)
