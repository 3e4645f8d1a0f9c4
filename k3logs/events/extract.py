"""One chunk of bytes -> what is known of each of its lines. The only place where log bytes are read.

    cut into lines -> colours off -> wrappers peeled, again and again -> pieces joined -> one dialect header -> message

A line that begins like one before it takes a short way: its layers are known. ``parse`` keeps every line of the result,
``triage`` those that matter; both come from here.
"""

from __future__ import annotations

from copy import copy

import numpy as np
import numpy.typing as npt

from k3logs.envelopes import ansi, stamped_pieces
from k3logs.events.headers import Headers
from k3logs.events.joining import Joining
from k3logs.events.layouts import Layouts, Read
from k3logs.events.lines import PAD, Lines, cut, views
from k3logs.events.peel import Peeler
from k3logs.events.reading import Block, Reading, without
from k3logs.events.rows import Places, Rows
from k3logs.events.wrappers import BRACE, MAX_LAYERS, Wrappers
from k3logs.grammar.bundle import Bundle

__all__ = ["Extractor", "Rows"]

_BLOCK = 400
"""Lines looked over at once for what few logs have."""


class Extractor:
    """Reads the chunks of one source in order; header numbers hold over all of them.

    Args:
        bundle: the grammars.
        headers: may be shared by several sources.
    """

    def __init__(self, bundle: Bundle, headers: Headers | None = None) -> None:
        self.headers = headers or Headers()
        self._wrappers = Wrappers(bundle, self.headers)
        self._dialects = Peeler(bundle.dialects, self.headers, dialect=True)
        self._joining = Joining(self.headers)
        alike = bundle.envelopes.automaton.digits_alike and bundle.dialects.automaton.digits_alike
        self._layouts = Layouts(self.headers) if alike else None

    def again(self) -> Extractor:
        """A reader of the same source from its start, that knows already what headers it has."""
        other = copy(self)
        other._joining = Joining(self.headers)
        return other

    def chunk(self, data: bytearray, size: int, times: bool = True) -> Rows:
        """Read ``data[:size]``: whole lines, with ``lines.PAD`` bytes behind.

        Args:
            times: read all stamps now; else :meth:`Rows.read_times` does it later.
        """
        pieces = cut(data, size)
        rows = Rows.of(pieces)
        reading = Reading(rows, self.headers, np.zeros(len(rows), np.bool_))
        rest: Places = np.arange(len(rows), dtype=np.int64)
        long = np.flatnonzero(rows.raw.end - rows.raw.start > stamped_pieces.LONGEST_WHOLE)
        if len(long):
            reading.rewritten.append((long, ansi.strip(stamped_pieces.mend(rows.raw.text(long)))))
            rest = without(rest, long, len(rows))
        coloured = np.setdiff1d(_coloured(rows.raw, pieces.escapes), long)
        if len(coloured):
            reading.rewritten.append((coloured, ansi.strip(rows.raw.text(coloured))))
            rest = without(rest, coloured, len(rows))
        self._read(reading, rows.blocks[0], rest)
        for _ in range(MAX_LAYERS):
            if not reading.rewritten:
                break
            lines = reading.derive(reading.rewritten)
            reading.rewritten = []
            self._read(reading, lines, np.arange(len(lines), dtype=np.int64))
        self._join(reading)
        self._peel(reading)
        self._learn(reading)
        self._joining.passed(rows.newlines)
        if times:
            rows.read_times()
        return rows

    def rest(self) -> Rows | None:
        """At the end of the source: lines whose last piece never came, as a chunk of their own."""
        rest = self._joining.rest()
        if not rest:
            return None
        text = "".join(whole.text.replace("\n", " ") + "\n" for whole in rest).encode()
        rows = Rows.of(cut(bytearray(text + bytes(PAD)), len(text)))
        reading = Reading(rows, self.headers, np.zeros(len(rows), np.bool_))
        self._joining.place_rest(rows, rest)
        self._peel(reading)
        rows.newlines = 0
        rows.read_times()
        return rows

    def _read(self, reading: Reading, lines: Lines, rest: Places) -> None:
        """Take the wrappers off the lines ``rest``; lines of a known layout are read to their message at once."""
        rows = reading.rows
        braces = rest[lines.buffer[lines.start[rest]] == BRACE]
        if len(braces):
            rest = without(rest, self._wrappers.json(reading, lines, braces), len(lines))
        block = Block(lines, lines.start.copy(), rows.header[lines.row], rest, np.zeros(len(lines), np.bool_))
        reading.blocks.append(block)
        found = self._layouts.find(lines, rest, block.outer[rest]) if self._layouts is not None else None
        if found is not None:
            row = lines.row[found.place]
            rows.header[row] = found.header
            reading.done[row] = True
            reading.keep(lines, found.stamps, found.sites, early=True)
            block.slowly = without(rest, found.place, len(lines))
        lines.seen = lines.start.copy()
        self._wrappers.unwrap(reading, block, block.slowly)

    def _join(self, reading: Reading) -> None:
        """Join the pieces of cut lines, between their wrappers and what they say."""
        rows = reading.rows
        concerned = self._joining.concerned(rows)
        if not len(concerned):
            return
        early = np.zeros(len(rows), np.bool_)
        early[concerned] = reading.done[concerned]
        if early.any():  # read too far: once more, without the shortcut
            reading.done[early] = False
            rows.take_back(early)
            for number, block in enumerate(reading.blocks):
                row = block.lines.row
                again = np.flatnonzero(early[row] & (rows.block[row] == number))
                block.lines.start[again] = block.begin[again]
                rows.header[row[again]] = block.outer[again]
                block.odd[again] = True
                self._wrappers.unwrap(reading, block, again)
        self._joining.join(reading, concerned)

    def _peel(self, reading: Reading) -> None:
        """Peel one dialect's header off each line that is not read yet."""
        rows = reading.rows
        open_ = ~(reading.done | rows.dropped)
        for number, lines in enumerate(rows.blocks):
            row = lines.row
            among = np.flatnonzero(open_[row] & (rows.block[row] == number))
            peeled = self._dialects.peel(lines, among) if len(among) else None
            if peeled is not None:
                block = next((b for b in reading.blocks if b.lines is lines), None) or Block(lines, lines.start, lines.row, among, np.ones(len(lines), np.bool_))
                reading.note(block, peeled)

    def _learn(self, reading: Reading) -> None:
        """Remember the layouts of lines that were read layer by layer."""
        rows, layouts = reading.rows, self._layouts
        if layouts is None:
            return
        for block in reading.blocks:
            lines, places = block.lines, block.slowly
            row = lines.row[places]
            good = ~block.odd[places] & ~reading.done[row] & ~rows.dropped[row] & (rows.blocks_of(row, lines))
            good &= lines.buffer[lines.start[places]] != BRACE
            places = places[good]
            if len(places) and lines.seen is not None:
                row = lines.row[places]
                layouts.learn(lines, Read(places, block.begin[places], lines.end[places], lines.seen[places], block.outer[places], rows.header[row],
                                          lines.start[places], block.keys, block.stamps, block.sites))  # fmt: skip


def _coloured(lines: Lines, escapes: npt.NDArray[np.int64]) -> Places:
    """Lines with colours, whole or broken."""
    found: Places = np.searchsorted(lines.end, escapes)
    keep = found < len(lines)
    keep[1:] &= found[1:] != found[:-1]
    found = found[keep]
    edges = np.append(lines.start[::_BLOCK], lines.end[-1:] + 1)
    edges[1:] -= 1
    blocks = ansi.may_carry(views(lines.buffer, lines.owner, edges[:-1], np.diff(edges)))
    suspect = np.repeat(blocks.to_numpy(), _BLOCK)[: len(lines)]
    suspect[:1] = True  # no newline stands before it
    places = np.flatnonzero(suspect)
    return np.union1d(found, places[ansi.carries(lines.text(places)).to_numpy()])
