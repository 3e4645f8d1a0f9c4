"""A failure as it is told in the logs: an event with what the catalogue says of it and who printed it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from k3logs.events.record import Event
from k3logs.identity.process import Process

if TYPE_CHECKING:
    from k3logs.signatures.signature import Signature

UNKNOWN_SPECIFICITY = 40
"""How telling an exception is that no signature knows: less than a known cause, more than a wrapper."""

LOUD_SPECIFICITY = 12
"""How telling a record at error level is that no signature knows."""


@dataclass(slots=True)
class Failure:
    """One telling of one failure.

    Attributes:
        role: what it is in this incident: initiating, cascade, teardown, benign, symptom (a time-out that nothing
            explains yet), handled (its process went on), request (one request failed).
        fields: what the signature's groups read.
        low, high: aligned time, seconds; high may be inf, low -inf.
        copies: the same failure told again by the same process or by those above it.
        observed: False where the culprit itself left no line and this is a witness.
        reasons: what made the role what it is.
        doubts: named reasons for less confidence where it leads.
        attempt: number of the start that it belongs to, in a log of several.
    """

    event: Event
    process: Process | None
    node: str | None
    signature: Signature | None
    fields: dict[str, str]
    link: int
    role: str
    specificity: int
    low: float = float("-inf")
    high: float = float("inf")
    copies: list[Failure] = field(default_factory=list)
    observed: bool = True
    reasons: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    victim_rank: int | None = None
    attempt: int = 0
    victim_node: str | None = None

    @property
    def text(self) -> str:
        """The first meaningful message."""
        event = self.event
        return event.chain[self.link].text if event.chain else event.text

    @property
    def line(self) -> int:
        """1-based line of its text in its source."""
        event = self.event
        return event.chain[self.link].line.number if event.chain else event.first.number

    @property
    def id(self) -> str | None:
        """The signature's id, None where no signature knows it."""
        return self.signature.id if self.signature else None

    def __repr__(self) -> str:
        who = self.process.label if self.process else "?"
        return f"<{self.role} {self.id} {who} {self.event.source}:{self.line} {self.text[:60]!r}>"
