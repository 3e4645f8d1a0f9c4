"""A chunk while it is read: its rows, its blocks of lines, and what was seen on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from k3logs.events.headers import Codes, Headers
from k3logs.events.lines import Ints, Lines, from_series
from k3logs.events.peel import Peeled, Spans
from k3logs.events.rows import Mask, Pieces, Places, Rows


@dataclass(slots=True)
class Block:
    """Lines with one buffer, and what was found on them layer by layer, in this order.

    Attributes:
        begin, outer: where each line began once it was out of JSON, and the header it had then.
        slowly: places of lines that were read layer by layer.
        odd: places of lines whose layers depend on more than how they begin.
    """

    lines: Lines
    begin: Ints
    outer: Codes
    slowly: Places
    odd: Mask
    keys: list[Spans] = field(default_factory=list)
    stamps: list[Spans] = field(default_factory=list)
    sites: list[Spans] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """A chunk on its way from lines to messages.

    Attributes:
        done: rows whose message is final.
        rewritten: rows with the text that stands for theirs from now on.
    """

    rows: Rows
    headers: Headers
    done: Mask
    blocks: list[Block] = field(default_factory=list)
    rewritten: list[tuple[Places, pl.Series]] = field(default_factory=list)

    def note(self, block: Block, peeled: Peeled) -> None:
        """Take in one layer of some lines."""
        rows, lines = self.rows, block.lines
        row = lines.row[peeled.place]
        rows.header[row] = self.headers.below(rows.header[row], peeled.header)
        block.keys += peeled.keys
        block.stamps += peeled.stamps
        block.sites += peeled.sites
        self.keep(lines, peeled.stamps, peeled.sites)

    def keep(self, lines: Lines, stamps: list[Spans], sites: list[Spans], early: bool = False) -> None:
        """Remember stamps and sites until they are read; ``early`` if that may be taken back."""
        rows = self.rows
        for spans, kept in ((stamps, rows.stamps), (sites, rows.sites)):
            kept += [Pieces(lines.row[s.place].astype(np.int64), lines, s.start, s.size, s.reader, s.envelope, early) for s in spans]

    def derive(self, rewritten: list[tuple[Places, pl.Series]]) -> Lines:
        """A block of rewritten text, in place of some rows' own."""
        rows = self.rows
        row = np.concatenate([places for places, _ in rewritten])
        lines = from_series(pl.concat([text.rename("") for _, text in rewritten]), row.astype(np.int32))
        rows.blocks.append(lines)
        rows.block[row], rows.place[row] = len(rows.blocks) - 1, np.arange(len(row), dtype=np.int32)
        return lines


def without(places: Places, gone: Places, count: int) -> Places:
    """``places`` (below ``count``) but for those in ``gone``."""
    if not len(gone):
        return places
    kept = np.ones(count, np.bool_)
    kept[gone] = False
    return places[kept[places]]
