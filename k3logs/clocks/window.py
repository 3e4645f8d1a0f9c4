"""What a user says of time: the zone of stamps that name none, and from when to when failures are looked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import inf

from k3logs.errors import InputError


@dataclass(frozen=True, slots=True)
class Window:
    """A zone, or None where nothing is known of it, and the seconds since 1970 UTC between which failures count."""

    zone: tzinfo | None = None
    since: float = -inf
    until: float = inf

    @classmethod
    def of(cls, zone: str | None = None, since: str | None = None, until: str | None = None) -> Window:
        """The window that options name.

        Args:
            zone: ``Europe/Berlin``, ``UTC``, ``+02:00``.
            since, until: ``2026-08-05T12:00:00``, in ``zone`` (else UTC) unless they name their own.

        Raises:
            InputError: one of them is neither.
        """
        own = _zone(zone) if zone else None
        window = cls(own, _time(since, own, "--since") if since else -inf, _time(until, own, "--until") if until else inf)
        if window.since > window.until:
            raise InputError("--since is later than --until", "turn them around")
        return window

    @property
    def narrows(self) -> bool:
        """Whether anything lies outside."""
        return self.since > -inf or self.until < inf

    def holds(self, low: float, high: float) -> bool:
        """Whether what happened between ``low`` and ``high`` may lie inside; what has no time may."""
        return high >= self.since and low <= self.until

    def offset(self, nanos: int) -> float | None:
        """Seconds by which the zone's clocks are ahead of UTC at a time, ns since 1970; None without a zone."""
        if self.zone is None:
            return None
        shift = datetime.fromtimestamp(nanos / 1e9, UTC).astimezone(self.zone).utcoffset()
        return shift.total_seconds() if shift is not None else None


def _zone(text: str) -> tzinfo:
    digits = text.removeprefix("UTC").removeprefix("GMT").replace(":", "")
    if text[:1] not in ("", ".", "/") and digits == "" or text == "Z":
        return UTC
    if digits[:1] in ("+", "-") and digits[1:].isdigit() and len(digits) in (2, 3, 5):
        hours, minutes = int(digits[1:3]), int(digits[3:] or 0)
        if hours <= 14 and minutes < 60:
            return timezone((1 if digits[0] == "+" else -1) * timedelta(hours=hours, minutes=minutes))
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(f"--tz {text} is no time zone", "write it as +02:00, UTC or Europe/Berlin") from error


def _time(text: str, zone: tzinfo | None, option: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{option} {text} is no time", "write it as 2026-08-05T12:00:00, or with a zone as 2026-08-05T12:00:00+02:00") from error
    return (found if found.tzinfo is not None else found.replace(tzinfo=zone or UTC)).timestamp()
