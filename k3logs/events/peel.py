"""Peel headers off lines: each line's layers become a header number, a time, and what is left, the message.

One automaton of all forms says which header a line has and how long its parts are; the parts that name a process and a
level, its key, are numbered where they stand. Adding a grammar changes nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.headers import MAX_KEYS, Codes, Header, Headers
from k3logs.events.keys import Hashes, Numbers, hashed, mixed
from k3logs.events.lines import Ints, Lines
from k3logs.events.scan import Scan, Scanner
from k3logs.events.stamps import StampReader
from k3logs.grammar.automaton import NONE
from k3logs.grammar.bundle import FormSet
from k3logs.grammar.line import Form

Places = npt.NDArray[np.int64]

_LEARNT_FROM = 4096
"""Bytes of a line that Lark gets to read its header."""


@dataclass(slots=True)
class Spans:
    """Pieces of the lines ``place``, as offsets into their buffer; ``reader`` reads them if they are stamps, ``envelope`` those of wrappers."""

    place: Places
    start: Places
    size: Ints
    reader: StampReader | None = None
    envelope: bool = False


@dataclass(slots=True)
class Peeled:
    """What one round found: ``place`` (in rising order) indexes the :class:`Lines` given."""

    place: Places
    header: Codes
    keys: list[Spans] = field(default_factory=list)
    stamps: list[Spans] = field(default_factory=list)
    sites: list[Spans] = field(default_factory=list)


@dataclass(slots=True)
class _Form:
    """A form at work; its stamp reader lasts as long as the log."""

    form: Form
    reader: StampReader | None
    learnt: int = 0
    rest: int = -1

    def parts(self, scan: Scan, number: int, rows: Places, length: Ints) -> list[tuple[str, Ints, Ints]]:
        """``(kind, offset, length)`` of each part that is not the same in every line."""
        sizes = scan.lengths(number, rows)
        segments = self.form.segments
        last = length - sum(s.length for s in segments) - sum(sizes, np.zeros(len(rows), np.int32))
        given = iter([*sizes, last])
        offset = np.zeros(len(rows), np.int32)
        found = []
        for segment in segments:
            if segment.group is None:
                offset = offset + np.int32(segment.length)
                continue
            size = next(given)
            found.append((segment.kind, offset, size))
            offset = offset + size
        return found


class Peeler:
    """Runs the forms of one :class:`FormSet` over lines."""

    def __init__(self, forms: FormSet, headers: Headers, dialect: bool) -> None:
        self._set = forms
        self._headers = headers
        self._dialect = dialect
        self._scanner = Scanner(forms.automaton)
        self._forms = [_Form(f, StampReader(f.stamp) if f.stamp else None) for f in forms.forms]
        self._tail = np.array([f.separator for f in forms.forms], np.int32)
        self._changing = np.isin(np.arange(NONE), list(forms.automaton.names))
        self._salt = mixed(np.arange(1, len(self._forms) + 1, dtype=np.uint64))
        self._numbers = Numbers()

    def peel(self, lines: Lines, among: Places) -> Peeled | None:
        """Match one header on each of the lines ``among`` and move their ``start`` behind it; None where there is none."""
        scan = self._scanner.scan(lines, among)
        if lines.seen is not None:
            lines.seen[among] = np.maximum(lines.seen[among], lines.start[among] + scan.seen)
        hit = np.flatnonzero(scan.form != NONE)
        if not len(hit):
            return None
        place, form, used = among[hit], scan.form[hit], scan.used[hit]
        start, end = lines.start[place].astype(np.int64), lines.end[place]
        size = (end - start).astype(np.int32)
        length = np.where(used > size, size, used - self._tail[form])
        peeled = Peeled(place, np.zeros(0, np.int32))
        keys = self._keys(lines, scan, hit, form, place, start, length, peeled)
        peeled.header = self._numbered(lines, form, start, size, keys)
        lines.start[place] = np.minimum(start + used, end)
        return peeled

    def columns(self, lines: Lines, among: Places) -> Iterator[tuple[Form, Places, pl.DataFrame]]:
        """Read all columns of whole lines: each form with the places it claims and its columns there."""
        scan = self._scanner.scan(lines, among)
        for number in np.flatnonzero(np.bincount(scan.form, minlength=NONE)[:NONE]).tolist():
            form = self._forms[number].form
            where = among[scan.form == number]
            groups = lines.text(where).str.extract_groups(form.pattern)
            yield form, where, groups.struct.unnest() if form.columns else pl.DataFrame()

    def _keys(self, lines: Lines, scan: Scan, hit: Places, form: npt.NDArray[np.uint8], place: Places, start: Places, length: Ints, peeled: Peeled) -> Hashes:
        """Hashes of the key of each header; notes where its stamps and sites stand."""
        first, size = start.copy(), length.copy()
        others: list[tuple[Places, Places, Ints]] = []
        for number, rows in self._changing_rows(form):
            size[rows] = 0
            keyed = False
            for kind, offset, long in self._forms[number].parts(scan, number, hit[rows], length[rows]):
                at = start[rows] + offset
                if kind == "stamp":
                    peeled.stamps.append(Spans(place[rows], at, long, self._forms[number].reader, not self._dialect))
                elif kind == "site":
                    peeled.sites.append(Spans(place[rows], at, long))
                elif kind == "key" and keyed:
                    others.append((rows, at, long))
                elif kind == "key":
                    first[rows], size[rows], keyed = at, long, True
        peeled.keys += [Spans(place, first, size), *(Spans(place[rows], at, long) for rows, at, long in others)]
        keys = hashed(lines, first, size) + self._salt[form]
        for rows, at, long in others:
            keys[rows] = mixed(keys[rows]) ^ hashed(lines, at, long)
        return keys

    def _changing_rows(self, form: npt.NDArray[np.uint8]) -> Iterator[tuple[int, Places]]:
        """The rows of each form that has a part which changes from line to line."""
        rows = np.flatnonzero(self._changing[form])
        if len(rows):
            rows = rows[np.argsort(form[rows], kind="stable")]
            edges = np.flatnonzero(np.diff(form[rows])) + 1
            for some in np.split(rows, edges):
                yield int(form[some[0]]), some

    def _numbered(self, lines: Lines, form: npt.NDArray[np.uint8], start: Places, size: Ints, keys: Hashes) -> Codes:
        numbers = self._numbers.find(keys)
        unknown = np.flatnonzero(numbers < 0)
        if not len(unknown):
            return numbers
        for number in np.flatnonzero(np.bincount(form[unknown])).tolist():
            one = self._forms[number]
            rows = unknown[form[unknown] == number]
            fresh, at = np.unique(keys[rows], return_index=True)
            room = max(0, MAX_KEYS - one.learnt)
            order = np.argsort(at)[:room]
            learnt = [self._learn(one, lines, int(start[row]), int(size[row])) for row in rows[at[order]].tolist()]
            self._numbers.add(fresh[order], learnt)
            one.learnt += len(learnt)
            numbers[rows] = self._numbers.find(keys[rows])
            if len(order) < len(fresh):
                numbers[rows[numbers[rows] < 0]] = self._unread(one)
        return numbers

    def _learn(self, one: _Form, lines: Lines, start: int, size: int) -> int:
        """Let Lark read a line whose header is new."""
        form = one.form
        line = lines.buffer[start : start + min(size, _LEARNT_FROM)].tobytes().decode("utf-8", "replace").partition("\n")[0]
        fields = self._set.parse(form.grammar, line) or {}
        wanted = {k: v for k, v in fields.items() if k in _KEY_FIELDS}
        return self._headers.add(Header(wanted, (form.id,), form.grammar if self._dialect else None, form.stamp, () if self._dialect else form.stamp))

    def _unread(self, one: _Form) -> int:
        """The header of lines whose form has had too many different ones."""
        if one.rest < 0:
            self._headers.overflowed.add(one.form.id)
            one.rest = self._headers.add(Header({}, (one.form.id,), one.form.grammar if self._dialect else None, one.form.stamp, () if self._dialect else one.form.stamp))
        return one.rest


_KEY_FIELDS = frozenset(
    "process pid rank local_rank parallel ip host tid cuda_dev level func pod container namespace service replica stream partial node "
    "job_rank label facility unit severity logger".split()
)
"""Columns that belong to a header key; the others change from line to line and are read from each."""
