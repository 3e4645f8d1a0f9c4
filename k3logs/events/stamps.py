"""Time stamps as text -> nanoseconds, a column at a time.

Stamps without a year are read in the leap year :data:`YEARLESS`; :func:`with_year` moves them next to a reference
once one is known. Nothing here knows zones beyond what a stamp prints; clocks are solved in ``k3logs.clocks``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from k3logs.events.headers import KeyColumn

Nanos = npt.NDArray[np.int64]

NO_TIME = np.iinfo(np.int64).min
"""Value of a stamp that is missing or cannot be read."""

YEARLESS = 2000
SECOND = 1_000_000_000

_MONTHS = {name: f"{n:02d}" for n, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}


def has_year(kind: tuple[str, ...]) -> bool:
    """Whether stamps of this kind (the terminal names of the ``stamp`` rule) print their year."""
    return bool({"RFC3339", "DATE", "YEAR", "EPOCH"} & set(kind))


def has_zone(kind: tuple[str, ...]) -> bool:
    """Whether stamps of this kind say their distance from UTC."""
    return bool({"RFC3339", "EPOCH"} & set(kind))


def resolution(text: str) -> int:
    """Nanoseconds between two neighbouring stamps as fine as this one: 1 s for ``12:34:56``, 1 ms for ``...,123``."""
    mark = max(text.rfind("."), text.rfind(","))
    digits = 0
    if mark >= 0:
        while mark + 1 + digits < len(text) and text[mark + 1 + digits].isdigit():
            digits += 1
    return int(10 ** (9 - min(digits, 9)))


class StampReader:
    """Reads stamps of one form; whole-second stamps are parsed once each."""

    def __init__(self, kind: tuple[str, ...]) -> None:
        self.kind = kind
        self._column = KeyColumn()
        self._seconds = np.zeros(0, np.int64)

    def read(self, text: pl.Series) -> tuple[Nanos, int]:
        """Nanoseconds since 1970 (UTC if the stamp has a zone, else as printed) and the resolution, also ns."""
        if not len(text):
            return np.zeros(0, np.int64), SECOND
        grain = resolution(str(text[0]))
        if grain == SECOND and "EPOCH" not in self.kind:
            places = self._column.number(text, self._learn)
            return self._seconds[places], grain
        return self._parse(text), grain

    def _learn(self, text: pl.Series, _: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        start = len(self._seconds)
        self._seconds = np.concatenate([self._seconds, self._parse(text)])
        return np.arange(start, len(self._seconds), dtype=np.int32)

    def _parse(self, text: pl.Series) -> Nanos:
        iso = self._iso(text)
        if isinstance(iso, np.ndarray):
            return iso
        array = iso.fill_null("").to_arrow().cast(pa.string())
        target = pa.timestamp("ns", "UTC") if "RFC3339" in self.kind else pa.timestamp("ns")
        try:
            return np.asarray(pc.cast(array, target).cast(pa.int64()))
        except pa.ArrowInvalid:
            return np.array([_one(array[n], target) for n in range(len(array))], np.int64)

    def _iso(self, text: pl.Series) -> pl.Series | Nanos:
        """The stamps in a form that Arrow casts, or their values at once."""
        kind = self.kind
        if "EPOCH" in kind:
            whole = text.str.extract(r"^([0-9]+)").cast(pl.Int64, strict=False).fill_null(0).to_numpy()
            part = text.str.extract(r"\.([0-9]{1,9})").fill_null("").str.pad_end(9, "0").cast(pl.Int64, strict=False).fill_null(0)
            return np.asarray(whole * SECOND + part.to_numpy(), np.int64)
        text = text.str.replace_all(",", ".", literal=True)
        if "RFC3339" in kind:
            return text
        if "DATE" in kind:
            return text.str.replace_all("[T_]", " ")
        if "MONTH_DAY" in kind:
            return f"{YEARLESS}-" + text
        if "GLOG_DAY" in kind:
            day, clock = text.str.extract(r"^([0-9]+)").str.zfill(4), text.str.extract(r"([0-9]{2}:.*)$")
            return f"{YEARLESS}-" + day.str.slice(0, 2) + "-" + day.str.slice(2, 2) + " " + clock
        month = text.str.extract(r"([A-Z][a-z]{2}) +[0-9]").replace_strict(_MONTHS, default="01")
        day = text.str.extract(r"[A-Z][a-z]{2} +([0-9]{1,2})").str.zfill(2)
        clock = text.str.extract(r"([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)")
        year = text.str.extract(r"\b([0-9]{4})\b").fill_null(str(YEARLESS)) if "YEAR" in kind else pl.Series([str(YEARLESS)])
        return year + "-" + month + "-" + day + " " + clock


def _one(value: pa.Scalar, target: pa.DataType) -> int:
    try:
        read = pc.cast(value, target).cast(pa.int64()).as_py()
    except pa.ArrowInvalid:
        return int(NO_TIME)
    return int(NO_TIME if read is None else read)


def with_year(stamps: Nanos, reference: int) -> Nanos:
    """Move year-less stamps (read in :data:`YEARLESS`) to the year that brings each closest to ``reference`` (ns)."""
    known = stamps != NO_TIME
    base = stamps[known].astype("datetime64[ns]")
    days = base.astype("datetime64[D]")
    month, day = days.astype("datetime64[M]").astype(int) % 12, (days - days.astype("datetime64[M]")).astype(int)
    inside = (base - days.astype("datetime64[ns]")).astype(np.int64)
    centre = int(np.datetime64(reference, "ns").astype("datetime64[Y]").astype(int))
    options = []
    for year in (centre - 1, centre, centre + 1):
        first = (np.datetime64(year, "Y").astype("datetime64[M]") + month).astype("datetime64[D]")
        options.append((first + day).astype("datetime64[ns]").astype(np.int64) + inside)
    choices = np.stack(options)
    best = np.argmin(np.abs(choices - reference), axis=0)
    moved = stamps.copy()
    moved[known] = np.take_along_axis(choices, best[None, :], 0)[0]
    return moved
