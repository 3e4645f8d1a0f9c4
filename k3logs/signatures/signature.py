"""One entry of the catalogue: what a failure says, what it can be, and what to do about it.

A signature is data (``data/<family>/<ID>-<slug>.toml``); this module only names its parts. How a file is
read and checked is in :mod:`k3logs.signatures.author`, how texts are matched in :mod:`k3logs.signatures.match`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any

STATUSES = ("experimental", "test", "stable")
ROLES = ("initiating", "cascade", "teardown", "benign", "depends")
#: How a ``depends`` signature is decided: initiating unless its process failed before, or only where nothing else explains it.
CONDITIONS = ("first_in_process", "alone")
#: The words of contract/verdict.schema.json; a test compares them with it.
CATEGORIES = (
    "host_driver", "container_runtime", "image", "dependency", "configuration", "model_weights", "memory", "network", "interconnect",
    "communication", "gpu_hardware", "host", "storage", "application", "request", "cache", "external", "unknown",
)  # fmt: skip
PHASES = (
    "container", "import", "config", "device_init", "distributed_init", "weight_load", "memory_profile", "compile", "kv_cache",
    "graph_capture", "serving", "shutdown",
)  # fmt: skip
#: Named groups that later steps understand; a pattern may name no other. A field that stands in several alternatives
#: of one pattern is written ``peer_pid``, ``peer_pid_2``, … and read as ``peer_pid``.
FIELDS = (
    "peer_host", "peer_addr", "peer_rank", "peer_pid", "worker", "local_rank", "device", "missing_rank", "joined", "expected",
    "exit_code", "signal", "errno", "xid", "bdf", "seq", "op_type", "requested", "free", "total", "used", "reserved", "nic", "path",
    "key", "port",
)  # fmt: skip


def field_of(group: str) -> str:
    """The field that a named group fills: ``peer_pid_2`` fills ``peer_pid``."""
    return group[:-2] if group[-2:-1] == "_" and group[-1].isdigit() else group


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, and the condition under which it applies."""

    do: str
    when: str
    collect: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """A line (or a record's lines) as printed, and what must be read from it.

    ``text`` is what the matcher is given: the part after envelope and prefix where the file says so, else the whole line.
    """

    line: str
    text: str
    fields: dict[str, str]
    dialect: str = ""
    level: str = ""


@dataclass(frozen=True, slots=True)
class Explain:
    """What the message says, why it is printed, where to look next, and when it means nothing."""

    what: str
    why: str
    next: str
    false_positives: str


@dataclass(frozen=True, slots=True)
class Signature:
    """A named failure text. ``role`` states the most a line can be; the role in an incident is set later.

    ``quotes``: the text repeats another failure's words, so it claims a record before any signature that does not quote.
    ``gate``: whether the literals help to pick lines worth reading; off for texts that only shield others from false matches.
    """

    id: str
    title: str
    status: str
    role: str
    condition: str
    category: str
    phases: tuple[str, ...]
    specificity: int
    formerly: tuple[str, ...]
    references: tuple[str, ...]
    date: str
    issues: tuple[str, ...]
    fixed_in: str
    dialects: tuple[str, ...]
    levels: tuple[str, ...]
    literals: tuple[str, ...]
    pattern: str
    quotes: bool
    gate: bool
    explain: Explain
    actions: tuple[Action, ...]
    samples: tuple[Sample, ...]
    not_samples: tuple[Sample, ...]
    path: str = field(default="", compare=False)

    @property
    def precedence(self) -> tuple[bool, int]:
        """Order in which signatures claim a text: quoting ones first, then by specificity."""
        return (self.quotes, self.specificity)

    def pack(self) -> tuple[Any, ...]:
        """Built-in types only, so that :mod:`marshal` can store it."""
        return astuple(self)

    @classmethod
    def unpack(cls, row: tuple[Any, ...]) -> Signature:
        """The inverse of :meth:`pack`."""
        *head, explain, actions, samples, not_samples, path = row
        parts = (
            Explain(*explain),
            tuple(Action(*a) for a in actions),
            tuple(Sample(*s) for s in samples),
            tuple(Sample(*s) for s in not_samples),
        )
        return cls(*(*head, *parts, path))
