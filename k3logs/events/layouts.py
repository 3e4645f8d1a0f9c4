"""Lines that begin like one that was read before, but for the digits: all their layers at once.

Where the layers of a line end depends on its first bytes alone, and not on which digit a digit is. So the layout of a line
is remembered by its beginning without digits; a line with a known one needs no automaton. What its header says does depend on
the digits: its number is looked up by the pieces of text that make its key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from k3logs.events.headers import Codes, Headers
from k3logs.events.keys import Hashes, Numbers, Remembered, hashed, mixed
from k3logs.events.lines import Ints, Lines
from k3logs.events.peel import Spans
from k3logs.events.stamps import StampReader

Places = npt.NDArray[np.int64]

WIDTHS = (40, 72, 100, 128)
"""Bytes by which a beginning is remembered: so many as the layers depend on, and few more, as lines are less alike further on."""

_FURTHER = -2
"""What is remembered of a beginning that does not tell the layout: this less the place in :data:`WIDTHS` of the shortest that does."""

_PIECES = 3
"""Pieces that a key may have."""

_CLOSE = 2
"""Bytes between two pieces of a key that can only be the same in every line: no stamp and no place is as short."""

_BITS = 17
_MOST_SHAPES, _MOST_HEADERS = 30_000, 200_000

_KEYS = slice(4, 4 + 2 * _PIECES)
_MESSAGE, _FORMS, _SITE, _SITE_SIZE = range(4)
_COLUMNS = 4 + 2 * _PIECES + 6
_STAMPS = (4 + 2 * _PIECES, 7 + 2 * _PIECES)
"""Columns of a shape: where the message begins, its forms, its site, pieces of the key, and two stamps (wrapper's, emitter's):
start, size and reader + 1 of each. All starts count from the line's own."""


@dataclass(slots=True)
class Found:
    """Lines that were read by their layout: ``place`` in rising order, their header numbers, stamps and sites."""

    place: Places
    header: Codes
    stamps: list[Spans] = field(default_factory=list)
    sites: list[Spans] = field(default_factory=list)


@dataclass(slots=True)
class Read:
    """Lines that were read layer by layer, to learn from.

    Attributes:
        begin, seen: where each began, and up to where its layers depended on its text.
        outer, header: its header number before and after.
        message: where its message begins.
    """

    place: Places
    begin: Ints
    end: Ints
    seen: Ints
    outer: Codes
    header: Codes
    message: Ints
    keys: list[Spans]
    stamps: list[Spans]
    sites: list[Spans]


class Layouts:
    """Layouts of one source's lines, over all its chunks."""

    def __init__(self, headers: Headers) -> None:
        self._headers = headers
        self._first, self._known = Remembered(_BITS), Remembered(_BITS)
        self._shapes: dict[bytes, int] = {}
        self._columns = [np.zeros(0, np.int32) for _ in range(_COLUMNS)]
        self._numbers = Numbers()
        self._forms: dict[tuple[str, ...], int] = {}
        self._readers: list[StampReader] = []

    def find(self, lines: Lines, among: Places, outer: Codes) -> Found | None:
        """Read those of the lines ``among`` whose layout and header are known, and move their ``start`` behind it.

        Args:
            outer: for each of ``among``, the number of the header that it already has.
        """
        if not self._shapes or not len(among):
            return None
        start, size = lines.start[among], lines.end[among] - lines.start[among]
        shape = self._shapes_by_beginning(lines, start, size)
        hit = np.flatnonzero(shape >= 0)
        shapes, start, outer = shape[hit].astype(np.int64), start[hit], outer[hit]
        header = self._numbers.find(self._header_keys(lines, start, lambda column, rows: self._columns[column].take(shapes[rows]), outer))
        good = np.flatnonzero(header >= 0)
        if not len(good):
            return None
        if len(good) < len(hit):
            hit, shapes, start, header = hit[good], shapes[good], start[good], header[good]
        place = among[hit]
        lines.start[place] = start + self._columns[_MESSAGE].take(shapes)
        found = Found(place, header)
        for column, envelope in zip(_STAMPS, (True, False), strict=True):
            readers = self._columns[column + 2].take(shapes)
            for number in np.flatnonzero(np.bincount(readers)).tolist():
                if number:
                    rows = np.flatnonzero(readers == number)
                    at, long = (self._columns[n].take(shapes[rows]) for n in (column, column + 1))
                    found.stamps.append(Spans(place[rows], start[rows].astype(np.int64) + at, long, self._readers[number - 1], envelope))
        rows = np.flatnonzero(self._columns[_SITE_SIZE].take(shapes))
        if len(rows):
            at, long = (self._columns[n].take(shapes[rows]) for n in (_SITE, _SITE_SIZE))
            found.sites.append(Spans(place[rows], start[rows].astype(np.int64) + at, long))
        return found

    def _shapes_by_beginning(self, lines: Lines, start: Ints, size: Ints) -> npt.NDArray[np.int16]:
        """The number of each line's shape, below 0 where it is not known."""
        shape = self._first.find(_beginnings(lines, start, size, WIDTHS[0]))
        rest = np.flatnonzero(shape <= _FURTHER)
        least = _FURTHER - shape[rest]
        for place, width in enumerate(WIDTHS):
            now = np.flatnonzero(least <= place) if place else rest[:0]
            if len(now):
                rows = rest[now]
                shape[rows] = self._known.find(_beginnings(lines, start[rows], size[rows], width))
                left = (least > place) | (shape[rest] < 0)
                rest, least = rest[left], least[left]
        return shape

    def learn(self, lines: Lines, read: Read) -> None:
        """Remember how lines were read."""
        if not len(read.place) or len(self._shapes) > _MOST_SHAPES or len(self._numbers) > _MOST_HEADERS:
            return
        shapes, plain = self._shapes_of(lines, read)
        size, seen = read.end - read.begin, read.seen - read.begin
        needed = np.searchsorted(WIDTHS, np.minimum(seen, size + 1))  # with its end: a longer line may begin with all of it
        which = np.flatnonzero(plain & (needed < len(WIDTHS)))
        if not len(which):
            return
        numbers, needed = self._number(shapes[which]), needed[which]
        first = _beginnings(lines, read.begin[which], size[which], WIDTHS[0])
        known = self._first.find(first)
        for place in range(len(WIDTHS) - 1, 0, -1):  # of lines that begin alike the one that needs least is noted last
            rows = np.flatnonzero(needed == place)
            if len(rows):
                self._known.put(_beginnings(lines, read.begin[which[rows]], size[which[rows]], WIDTHS[place]), numbers[rows])
                self._first.put(first[rows], np.where(known[rows] <= _FURTHER, np.maximum(known[rows], _FURTHER - place), _FURTHER - place))
        rows = np.flatnonzero(needed == 0)
        self._first.put(first[rows], numbers[rows])
        keys = self._header_keys(lines, read.begin[which], lambda column, rows: shapes[which[rows], column], read.outer[which])
        fresh, places = np.unique(keys, return_index=True)
        new = self._numbers.find(fresh) < 0
        self._numbers.add(fresh[new], read.header[which[places[new]]])

    def _shapes_of(self, lines: Lines, read: Read) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """The shape of each line as a row of columns, and which lines have one."""
        count = len(read.place)
        index = np.full(len(lines), -1, np.int32)
        index[read.place] = np.arange(count, dtype=np.int32)
        shapes = np.zeros((count, _COLUMNS), np.int32)
        plain = np.ones(count, np.bool_)
        shapes[:, _MESSAGE] = read.message - read.begin
        shapes[:, _FORMS] = self._forms_of(read.outer, read.header)
        pieces = np.zeros(count, np.int32)
        for part in read.keys:
            rows, start, size = _of(part, index, read.begin)
            self._add_pieces(shapes, plain, pieces, rows, start, size)
        for part in read.stamps:
            rows, start, size = _of(part, index, read.begin)
            if len(rows) and part.reader is not None:
                if part.reader not in self._readers:
                    self._readers.append(part.reader)
                column = _STAMPS[0] if part.envelope else _STAMPS[1]
                shapes[rows, column], shapes[rows, column + 1], shapes[rows, column + 2] = start, size, self._readers.index(part.reader) + 1
        for part in read.sites:
            rows, start, size = _of(part, index, read.begin)
            shapes[rows, _SITE], shapes[rows, _SITE_SIZE] = start, size
        return shapes, plain

    def _forms_of(self, outer: Codes, header: Codes) -> npt.NDArray[np.int32]:
        """Numbers for the forms that stand in each header behind those of the header around it."""
        known = self._headers.known
        pairs, where = np.unique((outer.astype(np.int64) << 32) | header, return_inverse=True)
        numbers = []
        for pair in pairs.tolist():
            forms = known[pair & 0xFFFFFFFF].forms[len(known[pair >> 32].forms) :]
            numbers.append(self._forms.setdefault(forms, len(self._forms)))
        return np.array(numbers, np.int32)[where]

    @staticmethod
    def _add_pieces(shapes: npt.NDArray[np.int32], plain: npt.NDArray[np.bool_], pieces: Ints, rows: Places, start: Ints, size: Ints) -> None:
        """Add a piece to the keys of ``rows``, or make their last one longer by it."""
        keys = shapes[:, _KEYS]
        some = size > 0
        rows, start, size = rows[some], start[some], size[some]
        last = np.maximum(pieces[rows] - 1, 0)
        end = keys[rows, 2 * last] + keys[rows, 2 * last + 1]
        close = (pieces[rows] > 0) & (start - end <= _CLOSE) & (start >= end)
        keys[rows[close], 2 * last[close] + 1] = (start + size)[close] - keys[rows[close], 2 * last[close]]
        rows, start, size = rows[~close], start[~close], size[~close]
        full = pieces[rows] == _PIECES
        plain[rows[full]] = False
        rows, start, size = rows[~full], start[~full], size[~full]
        keys[rows, 2 * pieces[rows]], keys[rows, 2 * pieces[rows] + 1] = start, size
        pieces[rows] += 1

    def _number(self, shapes: npt.NDArray[np.int32]) -> npt.NDArray[np.int16]:
        """Numbers of shapes; new ones are added to the table."""
        whole = np.zeros(len(shapes), np.uint64)
        for column in shapes.T:
            whole = mixed(whole + column.astype(np.uint64) + np.uint64(1))
        _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
        numbers = []
        added = []
        for row in first.tolist():
            key = shapes[row].tobytes()
            if key not in self._shapes:
                self._shapes[key] = len(self._shapes)
                added.append(shapes[row])
            numbers.append(self._shapes[key])
        if added:
            self._columns = [np.append(column, [shape[n] for shape in added]).astype(np.int32) for n, column in enumerate(self._columns)]
        return np.array(numbers, np.int16)[inverse]

    @staticmethod
    def _header_keys(lines: Lines, start: Ints, of: Callable[[int, slice | Places], Ints], outer: Codes) -> Hashes:
        """What a header's number is looked up by: the pieces of its key, its forms, and the header around it.

        Args:
            of: gives a column of the lines' shapes, for some rows.
        """
        keys = mixed((outer.astype(np.uint64) << np.uint64(32)) | (of(_FORMS, slice(None)).astype(np.uint64) + np.uint64(1)))
        keys ^= hashed(lines, start + of(_KEYS.start, slice(None)), of(_KEYS.start + 1, slice(None)))
        for column in range(_KEYS.start + 2, _KEYS.stop, 2):
            rows = np.flatnonzero(of(column + 1, slice(None)))
            if not len(rows):
                break
            keys[rows] = mixed(keys[rows]) ^ hashed(lines, start[rows] + of(column, rows), of(column + 1, rows))
        return keys


def _beginnings(lines: Lines, start: Ints, size: Ints, width: int) -> Hashes:
    return hashed(lines, start, np.minimum(size, width), alike=True) + np.uint64(width)


def _of(part: Spans, index: Ints, begin: Ints) -> tuple[Places, Ints, Ints]:
    """The rows of a part that are learned from, with where it starts in each, and its size."""
    rows = index[part.place]
    here = np.flatnonzero(rows >= 0)
    which: Places = rows[here].astype(np.int64)
    return which, (part.start[here] - begin[which]).astype(np.int32), part.size[here]
