"""Numbers, times and ranks as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(time: int | None) -> str | None:
    """Nanoseconds since 1970 UTC as RFC 3339 with ``Z``, without trailing zeros; None for None or a time no calendar has."""
    if time is None:
        return None
    seconds, nanos = divmod(int(time), 1_000_000_000)
    try:
        stamp = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    except OverflowError:
        return None
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{stamp}{fraction}Z"


def clock(time: int | None) -> str:
    """The same for a reader's eye: a blank for the ``T``, milliseconds at most."""
    text = rfc3339(time)
    if text is None:
        return "?"
    head, _, fraction = text.rstrip("Z").partition(".")
    return head.replace("T", " ") + (f".{fraction[:3]:0<3}" if fraction else "") + "Z"


def ranks(numbers: Iterable[int]) -> str:
    """``0-2,5`` for 0, 1, 2, 5."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def size(count: float) -> str:
    """Bytes as B, kB, MB or GB (powers of ten, three digits)."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.3g} {unit}" if count < 1000 else f"{count:,.0f} {unit}"
        count /= 1000
    raise AssertionError


def number(count: int) -> str:
    """``12,345``."""
    return f"{count:,}"


def counted(count: int, one: str, many: str = "") -> str:
    """``1 line``, ``2 lines``."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def percent(part: int, whole: int) -> str:
    """``97.3%``; never 100% where something is left, never 0% where something is there."""
    if whole <= 0:
        return "0%"
    share = 100 * part / whole
    shown = min(max(round(share, 1), 0.1 if part else 0.0), 100.0 if part >= whole else 99.9)
    return f"{shown:.4g}%"


def seconds(value: float) -> str:
    """A clock offset with its sign: ``+1.250 s``, ``-2 h 00 min 01 s``."""
    sign, left = ("-" if value < 0 else "+"), abs(value)
    if left < 60:
        return f"{sign}{left:.3f} s"
    minutes, rest = divmod(round(left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours} h {minutes:02d} min {rest:02d} s" if hours else f"{sign}{minutes} min {rest:02d} s"
