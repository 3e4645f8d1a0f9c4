"""Several attempts in one log: where each begins, and which of them the verdict is about.

Attempts that follow each other without reaching serving are one incident, which its first failing attempt leads; of
several incidents the latest leads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from k3logs.events.record import Event
from k3logs.incidents.phase import Mark, order

FRESH = ("vLLM API server version", "vLLM server version", "non-default args:", "args: Namespace(")
"""Lines that a start of vLLM begins with; one after a later phase begins a new attempt."""

AGAIN = ("will restart worker group",)
"""Lines by which a launcher says that it tries again."""


@dataclass(slots=True)
class Attempts:
    """The attempts of each source: first line of each, and the furthest phase it reached."""

    starts: dict[int, list[int]] = field(default_factory=dict)
    reached: dict[tuple[int, int], str] = field(default_factory=dict)

    def of(self, source: int, line: int) -> int:
        """Number of the attempt that a line belongs to, from 0."""
        return max(bisect_right(self.starts.get(source, [0]), line) - 1, 0)

    def last_line(self, source: int, attempt: int) -> float:
        """Where an attempt ends: the line before the next begins."""
        starts = self.starts.get(source, [0])
        return starts[attempt + 1] - 1 if attempt + 1 < len(starts) else float("inf")

    @property
    def count(self) -> int:
        """Attempts of the source that has most."""
        return max((len(s) for s in self.starts.values()), default=1)


def attempts(events: Sequence[Event], marks: Sequence[Mark]) -> Attempts:
    """Find the attempts: a start mark after a later phase, or a launcher that tries again."""
    found = Attempts()
    by_source: dict[int, list[tuple[int, str]]] = {}
    for mark in marks:
        by_source.setdefault(mark.source, []).append((mark.line, mark.phase))
    for event in events:
        if any(text in event.text for text in AGAIN):
            by_source.setdefault(event.source, []).append((event.last, "again"))
        elif event.text.startswith(FRESH):
            by_source.setdefault(event.source, []).append((event.first.number, "fresh"))
    for source, lines in by_source.items():
        starts, furthest = [0], -1
        for line, phase in sorted(lines):
            if phase == "again" or (phase == "fresh" and furthest > order("config")):
                starts.append(line)
                furthest = -1
            if phase in ("again", "fresh"):
                continue
            place = order(phase)
            furthest = max(furthest, place)
            found.reached[source, len(starts) - 1] = phase if place == furthest else found.reached.get((source, len(starts) - 1), phase)
        found.starts[source] = starts
    return found


def leading(failing: Sequence[int], served: Sequence[int]) -> int | None:
    """The attempt that leads, of those with failures (ascending); ``served`` are attempts that reached serving."""
    if not failing:
        return None
    first = failing[-1]
    for attempt in reversed(failing):
        if attempt < first and any(attempt < s <= first for s in served):
            break  # it served in between: an incident of its own
        first = attempt
    return first
