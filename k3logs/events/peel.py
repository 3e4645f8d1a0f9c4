"""Peel headers off lines: each line's layers become a header number, a time, and what is left, the message.

The first bytes of a line say, by one table look-up each, which forms can stand there; a form's compiled header pattern
then runs in polars on those lines alone. Adding a grammar changes nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.headers import MAX_KEYS, Codes, Header, Headers, KeyColumn
from k3logs.events.lines import Lines
from k3logs.events.stamps import NO_TIME, Nanos, StampReader
from k3logs.grammar.bundle import FormSet
from k3logs.grammar.line import OPENING, Form

Places = npt.NDArray[np.int64]


@dataclass(slots=True)
class Peeled:
    """What one round found on the lines that it matched: ``place`` indexes the :class:`Lines` given."""

    place: Places
    header: Codes
    stamp: Nanos
    grain: npt.NDArray[np.int64]
    site: pl.Series | None = None


@dataclass(slots=True)
class _Form:
    """A form at work: its key numbers and stamp reader, which last as long as the log."""

    form: Form
    bit: np.uint64
    keys: KeyColumn = field(default_factory=KeyColumn)
    reader: StampReader | None = None


class Peeler:
    """Runs the forms of one :class:`FormSet` over lines."""

    def __init__(self, forms: FormSet, headers: Headers, dialect: bool) -> None:
        if len(forms.forms) > 128:
            raise ValueError("more than 128 forms in one folder")
        self._set = forms
        self._headers = headers
        self._dialect = dialect
        self._words = [
            [_Form(f, np.uint64(1 << n), reader=StampReader(f.stamp) if f.stamp else None) for n, f in enumerate(word)]
            for word in (forms.forms[:64], forms.forms[64:])
            if word
        ]
        self._tables = [self._table(word) for word in self._words]

    @staticmethod
    def _table(word: list[_Form]) -> npt.NDArray[np.uint64]:
        """``table[p, b]``: the forms (as bits) whose lines may have byte ``b`` at place ``p``."""
        table = np.zeros((OPENING, 256), np.uint64)
        for one in word:
            for place, allowed in enumerate(one.form.opening):
                flags = np.array([allowed >> b & 1 for b in range(256)], bool)
                table[place, flags] |= one.bit
        return table

    def peel(self, lines: Lines, among: Places, sites: bool = False) -> list[Peeled]:
        """Match one header on each of the lines ``among`` and move their ``start`` behind it.

        Args:
            sites: keep the emitter's file and line as text.
        """
        found: list[Peeled] = []
        for one, places, candidates, bits in self._dispatch(lines, among):
            peeled, matched = self._match(one, lines, places[candidates], sites)
            if peeled is not None:
                found.append(peeled)
                bits[candidates[matched]] = 0
        return found

    def columns(self, lines: Lines, among: Places) -> Iterator[tuple[Form, Places, pl.DataFrame]]:
        """Read all columns of whole lines: each form with the places it claims and its columns there."""
        for one, places, candidates, bits in self._dispatch(lines, among):
            where = places[candidates]
            text = lines.text(where)
            matched = np.flatnonzero(text.str.contains(one.form.pattern).to_numpy())
            if len(matched):
                bits[candidates[matched]] = 0
                groups = text[matched].str.extract_groups(one.form.pattern)
                yield one.form, where[matched], groups.struct.unnest() if one.form.columns else pl.DataFrame()

    def _dispatch(self, lines: Lines, among: Places) -> Iterator[tuple[_Form, Places, Places, npt.NDArray[np.uint64]]]:
        """Forms that may stand on some of the lines: the form, places, which of these, and the bits still open."""
        for word, table in zip(self._words, self._tables, strict=True):
            rest = among
            start = lines.start[rest]
            bits = table[0][lines.buffer[start]]
            for place in range(1, OPENING):
                if place in (1, 3):
                    alive = np.flatnonzero(bits)
                    if len(alive) < 0.8 * len(rest):
                        rest, start, bits = rest[alive], start[alive], bits[alive]
                bits = bits & table[place][lines.buffer[start + place]]
            present = np.bitwise_or.reduce(bits) if len(bits) else np.uint64(0)
            for one in word:
                if not present & one.bit:
                    continue
                candidates = np.flatnonzero(bits & one.bit)
                if len(candidates):
                    yield one, rest, candidates, bits

    def _match(self, one: _Form, lines: Lines, place: Places, sites: bool) -> tuple[Peeled | None, Places]:
        form = one.form
        text = lines.text(place)
        groups = [s.group for s in form.segments if s.group]
        if not groups:
            return self._constant(one, lines, place, text)
        frame = pl.DataFrame([text]).select(pl.col("text").str.extract_groups(form.header).alias("g"))["g"].struct.unnest()
        matched = np.flatnonzero(frame[groups[0]].is_not_null().to_numpy())
        if not len(matched):
            return None, matched
        if len(matched) < len(place):
            frame, place = frame[matched], place[matched]
        length = np.full(len(place), sum(s.length for s in form.segments), np.int32)
        for group in groups:
            length += frame[group].str.len_bytes().to_numpy().astype(np.int32)
        keys = self._keys(form, frame)
        header = one.keys.number(keys, lambda fresh, at: [self._learn(one, lines, int(place[n]), k) for k, n in zip(fresh, at.tolist(), strict=True)])
        if one.reader and "stamp" in frame.columns:
            stamp, grain = one.reader.read(frame["stamp"])
        else:
            stamp, grain = np.full(len(place), NO_TIME, np.int64), 0
        site = frame["site"] if sites and "site" in frame.columns else None
        behind = lines.start[place] + length
        lines.start[place] = np.minimum(behind + form.separator, lines.end[place])
        return Peeled(place, header, stamp, np.full(len(place), grain, np.int64), site), matched

    def _constant(self, one: _Form, lines: Lines, place: Places, text: pl.Series) -> tuple[Peeled | None, Places]:
        """A form whose header is always the same text."""
        form = one.form
        matched = np.flatnonzero(text.str.contains(form.header).to_numpy())
        if not len(matched):
            return None, matched
        place = place[matched]
        header = self._learn(one, lines, int(place[0]), form.name)
        behind = lines.start[place] + sum(s.length for s in form.segments)
        lines.start[place] = np.minimum(behind + form.separator, lines.end[place])
        count = len(place)
        return Peeled(place, np.full(count, header, np.int32), np.full(count, NO_TIME, np.int64), np.zeros(count, np.int64)), matched

    @staticmethod
    def _keys(form: Form, frame: pl.DataFrame) -> pl.Series:
        parts = [s.group for s in form.segments if s.kind == "key" and s.group]
        if not parts:
            return pl.repeat(form.name, len(frame), eager=True)
        if len(parts) == 1:
            return frame[parts[0]]
        return frame.select(pl.concat_str(parts, separator="\x1f"))[parts[0]]

    def _learn(self, one: _Form, lines: Lines, place: int, key: str) -> int:
        form = one.form
        if len(one.keys.table) > MAX_KEYS and form.id in self._headers.overflowed:
            key = ""
        elif len(self._headers) > MAX_KEYS:
            self._headers.overflowed.add(form.id)
        start, end = int(lines.start[place]), int(lines.end[place])
        line = bytes(lines.buffer[start:end]).decode("utf-8", "replace")

        def make() -> Header:
            fields = (self._set.parse(form.grammar, line) if key or form.columns else None) or {}
            wanted = {k: v for k, v in fields.items() if k in _KEY_FIELDS}
            return Header(wanted if key else {k: v for k, v in wanted.items() if k == "level"}, (form.id,),
                          form.grammar if self._dialect else None, form.stamp)

        return self._headers.single(form.id, key, make)


_KEY_FIELDS = frozenset(
    "process pid rank local_rank parallel ip host tid cuda_dev level func pod container namespace service replica stream partial node "
    "job_rank label facility unit severity logger".split()
)
"""Columns that belong to a header key; the others change from line to line and are read from each."""
