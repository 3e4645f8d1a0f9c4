"""When a line was printed, as an interval on the reference clock.

A stamp says less than it shows: an emitter's is cut to its resolution, a wrapper's is a read time (the line was written
before it), c10's fraction comes from another clock than its seconds, a stamp without zone may be hours away.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from k3logs.clocks.solve import Solution
from k3logs.clocks.window import Window
from k3logs.events.digest import Digest
from k3logs.events.record import Line
from k3logs.events.stamps import NO_TIME, has_year, has_zone, near_year

QUARTER = 900.0
"""Zones lie whole quarter hours apart."""

LATE = 1.0
"""Seconds that a wrapper may read a line late, for ordering; clock bounds never rest on it."""

_NANO = 1e-9
_C10 = "c10d"


@dataclass(slots=True)
class SourceClock:
    """One source's clock.

    Attributes:
        zone: seconds that emitters' zone-less stamps are ahead of UTC; ``zone_known`` where the log proves it.
        lines, lows, highs: kept lines with a time of their own, for lines without one.
        usual: seconds by which each dialect's stamps are ahead of wrappers' (zone and lateness), as a rule.
        year: the year that year-less stamps were moved to, from ``basis``.
    """

    zone: float = 0.0
    zone_known: bool = False
    basis: str = "none"
    lines: list[int] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    reference: int | None = None
    usual: dict[str | None, float] = field(default_factory=dict)


def _middle(reference: int, stamps: list[int]) -> int:
    """A time that is typical of a log: a zone may have its summer."""
    return int(median(stamps)) if stamps else reference


class Times:
    """Intervals of lines on their own node's clock, and on the reference clock once offsets are known."""

    def __init__(self, digests: Sequence[Digest], now: int, window: Window | None = None) -> None:
        self._digests = digests
        self._window = window or Window()
        self.clocks = [self._clock(digest, now) for digest in digests]
        self.solution: Solution | None = None
        self.node_number: dict[str, int] = {}

    def _clock(self, digest: Digest, now: int) -> SourceClock:
        clock = SourceClock()
        rows = digest.rows
        known = digest.headers.known
        if not len(rows):
            return clock
        stamps = list(zip(rows["line"].to_list(), rows["header"].to_list(), rows["time"].to_list(), rows["envelope_time"].to_list(),
                          rows["grain"].to_list(), strict=True))
        full = [e for *_, e, _ in stamps if e != NO_TIME] or [t for _, h, t, _, _ in stamps if t != NO_TIME and has_year(known[h].stamp)]
        if full:
            clock.reference, clock.basis = int(median(full)), "known"
        else:
            clock.reference, clock.basis = digest.source.modified or now, "assumed"
        differences: list[float] = []
        by_dialect: dict[str | None, list[float]] = {}
        for _, h, t, e, _ in stamps[:20_000]:
            if t != NO_TIME and e != NO_TIME and not has_zone(known[h].stamp) and (not known[h].wrapped or has_zone(known[h].wrapped)):
                differences.append((self._year(known[h].stamp, t, clock.reference) - e) * _NANO)
                by_dialect.setdefault(known[h].dialect, []).append(differences[-1])
        if differences:
            # read times are late: the zone is the smallest lag that fits, to the quarter hour
            middle = sorted(differences)[len(differences) // 2]
            clock.zone, clock.zone_known = round(middle / QUARTER) * QUARTER, True
            clock.usual = {dialect: median(found) for dialect, found in by_dialect.items()}
        elif (given := self._window.offset(_middle(clock.reference, [self._year(known[h].stamp, t, clock.reference) for _, h, t, _, _ in stamps if t != NO_TIME]))) is not None:
            clock.zone, clock.zone_known = given, True
        stamps.sort(key=lambda stamp: stamp[0])  # a line in pieces is kept where it ends, and numbered where it began
        for line, h, t, e, grain in stamps:
            low, high = self._interval(clock, known[h].dialect, known[h].stamp, t, e, grain)
            if high != float("inf"):
                clock.lines.append(line)
                clock.lows.append(low)
                clock.highs.append(high)
        return clock

    @staticmethod
    def _year(kind: tuple[str, ...], stamp: int, reference: int) -> int:
        if has_year(kind):
            return stamp
        return near_year(stamp, reference)

    def _interval(self, clock: SourceClock, dialect: str | None, kind: tuple[str, ...], time: int, envelope: int, grain: int) -> tuple[float, float]:
        low, high = float("-inf"), float("inf")
        if time != NO_TIME:
            base = self._year(kind, time, clock.reference or time) * _NANO - (0.0 if has_zone(kind) else clock.zone)
            if dialect == _C10:
                low, high = float(int(base // 1)), float(int(base // 1)) + 1.0
            else:
                low, high = base, base + max(grain * _NANO, 1e-6)
        if envelope != NO_TIME:
            read = envelope * _NANO
            high = min(high, max(read, low))
            if low == float("-inf"):
                low = read - LATE
        return low, high

    def own(self, source: int, line: Line) -> tuple[float, float]:
        """``(low, high)`` seconds of a line on its node's clock; a line without a stamp lies between its neighbours."""
        clock = self.clocks[source]
        header = self._digests[source].headers.known[line.header]
        low, high = self._interval(clock, header.dialect, header.stamp, line.time, line.envelope_time, line.grain)
        if high == float("inf") and clock.lines:
            after = bisect_right(clock.lines, line.number)
            if after < len(clock.lines):
                high = clock.highs[after]
        if low == float("-inf") and clock.lines:
            before = bisect_left(clock.lines, line.number)
            if before > 0:
                low = min(clock.lows[before - 1], high)
        return low, high

    def hard(self, source: int, line: Line) -> tuple[float, float]:
        """``(low, high)`` that certainly hold: nothing is assumed about how late a wrapper reads, nothing inherited."""
        clock = self.clocks[source]
        header = self._digests[source].headers.known[line.header]
        low, high = self._interval(clock, header.dialect, header.stamp, line.time, line.envelope_time, line.grain)
        return (float("-inf") if line.time == NO_TIME else low), high

    def lag(self, source: int, line: Line) -> float | None:
        """Seconds by which a line's own stamp is older than its wrapper's, beyond what is usual for its dialect; None without both."""
        clock = self.clocks[source]
        header = self._digests[source].headers.known[line.header]
        if line.time == NO_TIME or line.envelope_time == NO_TIME or header.dialect not in clock.usual:
            return None
        own = self._year(header.stamp, line.time, clock.reference or line.time)
        return (line.envelope_time - own) * _NANO + clock.usual[header.dialect]

    def offset(self, node: str | None) -> tuple[float, float, float]:
        """``(offset, low, high)`` of a node; unknown nodes may be anywhere."""
        if self.solution is None or node is None or node not in self.node_number:
            return 0.0, float("-inf"), float("inf")
        found = self.solution.offsets[self.node_number[node]]
        return found.offset or 0.0, found.low if found.low is not None else float("-inf"), found.high if found.high is not None else float("inf")

    def aligned(self, source: int, line: Line, node: str | None) -> tuple[float, float]:
        """``(low, high)`` of a line on the reference clock."""
        low, high = self.own(source, line)
        shift = self.offset(node)[0]
        return low - shift, high - shift

    def moment(self, source: int, header: int, time: int, envelope: int, node: str | None) -> float | None:
        """The latest aligned time that a stamp allows, None without one."""
        known = self._digests[source].headers.known[header]
        _, high = self._interval(self.clocks[source], known.dialect, known.stamp, time, envelope, 1)
        return None if high == float("inf") else high - self.offset(node)[0]

    def between(self, a: str | None, b: str | None) -> float:
        """The greatest possible offset of node ``b``'s clock against ``a``'s beyond what alignment took out, seconds.

        Inf where nothing ties the two clocks.
        """
        if self.solution is None or a not in self.node_number or b not in self.node_number:
            return 0.0 if a == b else float("inf")
        i, j = self.node_number[a or ""], self.node_number[b or ""]
        taken = (self.solution.offsets[j].offset or 0.0) - (self.solution.offsets[i].offset or 0.0)
        return float(self.solution.bounds[i, j]) - taken
