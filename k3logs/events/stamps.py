"""Time stamps as text -> nanoseconds, a column at a time.

Stamps without a year are read in the leap year :data:`YEARLESS`; :func:`with_year` moves them next to a reference
once one is known. Nothing here knows zones beyond what a stamp prints; clocks are solved in ``k3logs.clocks``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.lines import Bytes, from_series, windows

Nanos = npt.NDArray[np.int64]
NO_TIME = np.iinfo(np.int64).min
"""Value of a stamp that is missing or cannot be read."""

YEARLESS = 2000
SECOND = 1_000_000_000

_LONGEST = 64
"""Bytes; a longer stamp is not read."""

_WORD = 8
_POINT, _COMMA, _NOUGHT, _MINUS = np.frombuffer(b".,0-", np.uint8)
_NINE = 9

_MONTHS = np.zeros(256, np.int64)
for _n, _name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1):
    _MONTHS[(ord(_name[1]) * 8 + ord(_name[2])) & 255] = _n  # no two of them meet
_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)
_MARCH_1970 = 719_468
"""Days from 1 March of year 0 to 1 January 1970."""

_DAY = 86_400 * SECOND
_UNIX = date(1970, 1, 1).toordinal()
_NEVER = -9_000_000_000
_EARLIEST = -8_000_000_000 * SECOND
_EPOCH_DIGITS = 12
_ZONE_AT = len("2026-08-05T12:34:56")


def has_year(kind: tuple[str, ...]) -> bool:
    """Whether stamps of this kind (the terminal names of the ``stamp`` rule) print their year."""
    return bool({"RFC3339", "DATE", "YEAR", "EPOCH"} & set(kind))


def has_zone(kind: tuple[str, ...]) -> bool:
    """Whether stamps of this kind say their distance from UTC."""
    return bool({"RFC3339", "EPOCH"} & set(kind))


_WIDTH = {"DATE": 10, "CLOCK": 8, "MONTH_DAY": 5, "MONTH_NAME": 3, "DAY": 2, "YEAR": 4}
"""Characters of the terminals that have always the same; the first one of another kind takes what is left."""


class StampReader:
    """Reads stamps of one form: eight characters of every stamp at a time, no text is made of them."""

    def __init__(self, kind: tuple[str, ...]) -> None:
        self.kind = kind

    def read(self, buffer: Bytes, start: npt.NDArray[np.int64], size: npt.NDArray[np.int32]) -> tuple[Nanos, Nanos]:
        """Read ``buffer[start[i] : start[i] + size[i]]``.

        Returns:
            nanoseconds since 1970 (UTC if the stamp has a zone, else as printed), and the distance of two neighbouring stamps as
            fine as this one: 1 s for ``12:34:56``, 1 ms for ``...,123``.
        """
        nanos, grain = np.full(len(start), NO_TIME, np.int64), np.full(len(start), SECOND, np.int64)
        for length in np.flatnonzero(np.bincount(size, minlength=1)).tolist():
            if not 0 < length <= _LONGEST:
                continue
            rows = np.flatnonzero(size == length)
            letters = windows(buffer, start[rows], length + _WORD)
            mark, digits = _fractions(letters[:, :length])
            layout = mark * _LONGEST + digits
            for value in np.flatnonzero(np.bincount(layout)).tolist():
                same = slice(None) if (layout == value).all() else np.flatnonzero(layout == value)
                nanos[rows[same]], grain[rows[same]] = self._alike(Letters(letters[same]), length, value // _LONGEST, value % _LONGEST)
        return nanos, grain

    def read_text(self, text: pl.Series) -> tuple[Nanos, Nanos]:
        """:meth:`read` for a column of texts."""
        lines = from_series(text, np.zeros(len(text), np.int32))
        return self.read(lines.buffer, lines.start.astype(np.int64), lines.end - lines.start)

    def _alike(self, letters: Letters, length: int, mark: int, digits: int) -> tuple[Nanos, Nanos]:
        """Read stamps of one length that all have their fraction, of so many digits, behind ``mark``."""
        used = min(digits, 9)
        nanos = self._whole(letters, (*range(mark), *range(mark + 1 + digits, length))) * SECOND
        if used:
            nanos = nanos + letters.number(range(mark + 1, mark + 1 + used)) * 10 ** (9 - used)
        grain = np.full(len(letters), 10 ** (9 - used), np.int64)
        return np.where(nanos < _EARLIEST, NO_TIME, nanos), grain

    def _whole(self, letters: Letters, at: Sequence[int]) -> Nanos:
        """Whole seconds since 1970, far below 0 where the stamp is no time; its characters stand ``at`` these places."""
        if "EPOCH" in self.kind:
            return letters.number(at[:_EPOCH_DIGITS]) if len(at) <= _EPOCH_DIGITS else np.full(1, _NEVER)
        kinds, zone = self.kind, np.zeros(1, np.int64)
        if kinds == ("RFC3339",):
            kinds = ("DATE", "CLOCK")
            zone = _zone(letters, at[_ZONE_AT:])
            at = at[:_ZONE_AT]
        fixed = sum(_WIDTH.get(kind, 0) + 1 for kind in kinds if not kind.startswith("_")) - 1
        year: Nanos = np.full(1, YEARLESS)
        month = day = hour = minute = second = np.zeros(1, np.int64)
        place = 0
        for kind in kinds:
            if kind.startswith("_"):  # what stands between two terminals is one character
                continue
            width = _WIDTH.get(kind, len(at) - fixed)
            part = at[place : place + width]
            place += width + 1
            if len(part) < width or width < 2:
                return np.full(1, _NEVER)
            if kind == "DATE":
                year, month, day = letters.number(part[:4]), letters.number(part[5:7]), letters.number(part[8:])
            elif kind == "MONTH_DAY":
                month, day = letters.number(part[:2]), letters.number(part[3:])
            elif kind == "CLOCK":
                hour, minute, second = letters.number(part[:2]), letters.number(part[3:5]), letters.number(part[6:])
            elif kind == "MONTH_NAME":
                month = _MONTHS[(letters.byte(part[1]).astype(np.int64) * 8 + letters.byte(part[2])) & 255]
            elif kind == "YEAR":
                year = letters.number(part)
            else:  # DAY, GLOG_DAY: one or two digits, or a month before them
                day = letters.number(part[-2:])
                month = letters.number(part[:-2]) if len(part) > 2 else month
        return _seconds(year, month, day, hour, minute, second) - zone


class Letters:
    """Characters of many stamps, by their place in each. What is the same in all of them comes as an array of one element."""

    def __init__(self, rows: Bytes) -> None:
        """``rows`` has a stamp in each row, and at least :data:`_WORD` bytes behind it."""
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def byte(self, at: int) -> npt.NDArray[np.uint8]:
        """One character of each stamp."""
        return self._rows[:, at]

    def number(self, at: Sequence[int]) -> Nanos:
        """The number that digits at these places make; a space counts as 0."""
        value = np.zeros(1, np.int64)
        while at:
            count = next((n for n in range(1, min(len(at), 8)) if at[n] != at[0] + n), min(len(at), 8))
            value = value * 10**count + self._digits(at[0], count)
            at = at[count:]
        return value

    def _digits(self, at: int, count: int) -> Nanos:
        word = np.ndarray((len(self),), "<u8", self._rows, at, (self._rows.shape[1],)) << np.uint64(64 - 8 * count)
        if len(word) and (word == word[0]).all():
            word = word[:1]
        word &= _NIBBLES
        for base, shift, mask in _PAIRS:  # neighbours become one number: pairs of digits, pairs of pairs
            word = (word * base + (word >> shift)) & mask
        return word.view(np.int64)


_NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)
_PAIRS = tuple(
    (np.uint64(base), np.uint64(shift), np.uint64(mask)) for base, shift, mask in ((10, 8, 0x00FF00FF00FF00FF), (100, 16, 0x0000FFFF0000FFFF), (10_000, 32, 0xFFFFFFFF))
)


def _fractions(letters: Bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of stamps of one length: where the mark before each one's fraction stands, and how many digits follow it."""
    mark, digits = _fractions_of_each(letters[:1])
    if not len(letters) or mark[0] == letters.shape[1]:
        return _fractions_of_each(letters)
    others = np.flatnonzero(~_like(letters, int(mark[0]), int(digits[0])))
    mark, digits = np.repeat(mark, len(letters)), np.repeat(digits, len(letters))
    if len(others):
        mark[others], digits[others] = _fractions_of_each(letters[others])
    return mark, digits


def _like(letters: Bytes, mark: int, digits: int) -> npt.NDArray[np.bool_]:
    """Which stamps have their fraction, of so many digits, behind ``mark``, a column at a time."""
    like: npt.NDArray[np.bool_] = _marks(letters[:, mark])
    for place in range(mark + 1, letters.shape[1]):
        column = letters[:, place]
        digit = column - _NOUGHT <= _NINE  # below "0" it wraps round
        like &= digit if place <= mark + digits else ~_marks(column) & (~digit if place == mark + digits + 1 else True)
    return like


def _marks(letters: Bytes) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (letters == _POINT) | (letters == _COMMA)
    return found


def _fractions_of_each(letters: Bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    count, length = letters.shape
    marks = _marks(letters)
    mark = np.full(count, length, np.int64)
    digits = np.zeros(count, np.int64)
    has = np.flatnonzero(marks.any(axis=1)) if marks.any() else np.zeros(0, np.int64)
    mark[has] = length - 1 - np.argmax(marks[has, ::-1], axis=1)
    for place in np.flatnonzero(np.bincount(mark[has], minlength=1)[:length]).tolist():
        rows = has[mark[has] == place]
        others = np.ones((len(rows), length - place), np.bool_)
        others[:, :-1] = letters[rows, place + 1 :] - _NOUGHT > _NINE
        digits[rows] = np.argmax(others, axis=1)
    return mark, digits


def _zone(letters: Letters, at: Sequence[int]) -> Nanos:
    """Seconds ahead of UTC: of ``Z``, ``+02:00`` or ``+0200``."""
    if len(at) < 5:
        return np.zeros(1, np.int64)
    sign = np.where(letters.byte(at[0]) == _MINUS, np.int64(-1), np.int64(1))
    ahead: Nanos = sign * (letters.number(at[1:3]) * 3600 + letters.number(at[-2:]) * 60)
    return ahead


def _seconds(year: Nanos, month: Nanos, day: Nanos, hour: Nanos, minute: Nanos, second: Nanos) -> Nanos:
    """Seconds since 1970 of a moment in the Gregorian calendar; far below 0 where there is none."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    good = (year >= 1700) & (year <= 2261)  # what 64 bits of nanoseconds hold
    good = good & (month >= 1) & (month <= 12) & (day >= 1)
    month = np.where(good, month, 1)
    good = good & (day <= _DAYS[month] + (leap & (month == 2)))
    shifted = year - (month <= 2)  # years that begin in March end with the day that comes and goes
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - _MARCH_1970
    good = good & (hour < 24) & (minute < 60) & (second < 60)
    return np.where(good, ((days * 24 + hour) * 60 + minute) * 60 + second, _NEVER)


def with_year(stamps: Nanos, reference: int) -> Nanos:
    """Move year-less stamps (read in :data:`YEARLESS`) to the year that brings each closest to ``reference`` (ns)."""
    moved = stamps.copy()
    known = np.flatnonzero(stamps != NO_TIME)
    days = stamps[known] // _DAY
    for day in np.unique(days).tolist():
        rows = known[days == day]
        choices = stamps[rows] + np.array(_shifts(day, reference // _DAY))[:, None]
        moved[rows] = np.take_along_axis(choices, np.argmin(np.abs(choices - reference), axis=0)[None, :], 0)[0]
    return moved


def near_year(stamp: int, reference: int) -> int:
    """:func:`with_year` for one stamp."""
    return min((stamp + shift for shift in _shifts(stamp // _DAY, reference // _DAY)), key=lambda moved: abs(moved - reference))


@cache
def _shifts(day: int, near: int) -> tuple[int, ...]:
    """Nanoseconds from a day of :data:`YEARLESS` to the same day in the years around another day (both since 1970)."""
    of, year = date.fromordinal(_UNIX + day), date.fromordinal(_UNIX + near).year
    ordinals = [date(y, of.month, 1).toordinal() + of.day - 1 for y in (year - 1, year, year + 1)]
    return tuple((ordinal - _UNIX - day) * _DAY for ordinal in ordinals)
