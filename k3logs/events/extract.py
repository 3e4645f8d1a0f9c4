"""One chunk of bytes -> what is known of each of its lines. The only place where log bytes are read.

    cut into lines -> colours off -> wrappers peeled, again and again -> one dialect header -> message

``parse`` keeps every line of the result, ``triage`` those that matter; both come from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.envelopes import ansi, record_json, wrapped_json
from k3logs.events.headers import Codes, Header, Headers, KeyColumn
from k3logs.events.lines import Cut, Lines, cut, from_series
from k3logs.events.partials import Joiner
from k3logs.events.peel import Peeled, Peeler, Places
from k3logs.events.stamps import NO_TIME, Nanos, StampReader
from k3logs.grammar.bundle import Bundle

MAX_LAYERS = 8
"""Wrappers around wrappers; more than four have not been seen."""

_BRACE = 123


@dataclass(slots=True)
class Rows:
    """What a chunk's lines are, one element per line (or part of a line).

    Attributes:
        number: lines of the source before this one, in this chunk.
        header: number of the line's header in ``Extractor.headers``.
        envelope_time, time: read time and emitter's time, ns; :data:`NO_TIME` where there is none.
        grain: resolution of ``time``, ns.
        dropped: pieces that were joined to an earlier row.
    """

    raw: Lines
    number: npt.NDArray[np.int32]
    part: npt.NDArray[np.int16]
    header: Codes
    envelope_time: Nanos
    time: Nanos
    grain: npt.NDArray[np.int64]
    blocks: list[Lines]
    block: npt.NDArray[np.int16]
    place: npt.NDArray[np.int32]
    dropped: npt.NDArray[np.bool_]
    newlines: int
    repaired: int
    sites: list[tuple[Places, pl.Series]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.number)

    def messages(self, rows: npt.NDArray[np.int64]) -> pl.Series:
        """Message texts of ``rows``, copied out of the chunk."""
        block = self.block[rows]
        if len(self.blocks) == 1 or not block.any():
            return self.blocks[0].text(self.place[rows]).rename("message")
        parts, places = [], []
        for n in np.unique(block):
            inside = np.flatnonzero(block == n)
            parts.append(self.blocks[n].text(self.place[rows[inside]]))
            places.append(inside)
        order = np.argsort(np.concatenate(places))
        return pl.concat(parts)[order].rename("message")


class Extractor:
    """Reads the chunks of one source in order; header numbers hold over all of them.

    Args:
        bundle: the grammars.
        headers: may be shared by several sources.
    """

    def __init__(self, bundle: Bundle, headers: Headers | None = None) -> None:
        self.headers = headers or Headers()
        self._envelopes = Peeler(bundle.envelopes, self.headers, dialect=False)
        self._dialects = Peeler(bundle.dialects, self.headers, dialect=True)
        self._json_stamp = StampReader(("RFC3339",))
        self._json_keys = KeyColumn()
        self.joiner = Joiner()

    def chunk(self, data: bytearray, size: int, sites: bool = False) -> Rows:
        """Read ``data[:size]``: whole lines, with ``lines.PAD`` bytes behind.

        Args:
            sites: keep emitter file and line of each record (for the event table).
        """
        pieces = cut(data, size)
        rows = self._rows(pieces)
        main = rows.blocks[0]
        rest: Places = np.arange(len(main), dtype=np.int64)
        if any(data.find(probe, 0, size) >= 0 for probe in ansi.PROBES):
            coloured = np.flatnonzero(ansi.carries(main.text()).to_numpy())
            if len(coloured):
                self._derive(rows, ansi.strip(main.text(coloured)), coloured, sites)
                rest = np.setdiff1d(rest, coloured, assume_unique=True)
        self._read(rows, 0, rest, sites, 0)
        for row, text in self.joiner.carry():
            self._derive(rows, pl.Series([text]), np.array([row]), sites, done=True)
        return rows

    @staticmethod
    def _rows(pieces: Cut) -> Rows:
        raw = pieces.lines
        main = Lines(raw.buffer, raw.owner, raw.start.copy(), raw.end.copy(), raw.row)
        count = len(raw)
        return Rows(raw, pieces.number, pieces.part, np.zeros(count, np.int32), np.full(count, NO_TIME, np.int64),
                    np.full(count, NO_TIME, np.int64), np.zeros(count, np.int64), [main], np.zeros(count, np.int16),
                    np.arange(count, dtype=np.int32), np.zeros(count, np.bool_), pieces.newlines, pieces.repaired)

    def _read(self, rows: Rows, block: int, rest: Places, sites: bool, depth: int, joined: bool = False) -> None:
        """Peel the lines ``rest`` of a block down to their messages; ``joined`` where its pieces are together already."""
        lines = rows.blocks[block]
        every = rest
        for _ in range(MAX_LAYERS):
            if not len(rest):
                break
            braces = rest[lines.buffer[lines.start[rest]] == _BRACE]
            if len(braces) and depth < MAX_LAYERS:
                taken = self._json(rows, block, braces, sites, depth)
                if len(taken):
                    rest = np.setdiff1d(rest, taken, assume_unique=True)
                    every = np.setdiff1d(every, taken, assume_unique=True)
            found = self._envelopes.peel(lines, rest)
            for peeled in found:
                self._note(rows, lines, peeled, envelope=True)
            rest = np.concatenate([p.place for p in found]) if found else rest[:0]
        if not joined:
            every = self._join(rows, block, every, sites, depth)
        for peeled in self._dialects.peel(lines, every, sites):
            self._note(rows, lines, peeled, envelope=False)
            if peeled.site is not None:
                rows.sites.append((lines.row[peeled.place].astype(np.int64), peeled.site))

    def _note(self, rows: Rows, lines: Lines, peeled: Peeled, envelope: bool) -> None:
        row = lines.row[peeled.place]
        rows.header[row] = self.headers.below(rows.header[row], peeled.header)
        stamped = peeled.stamp != NO_TIME
        target = rows.envelope_time if envelope else rows.time
        target[row[stamped]] = peeled.stamp[stamped]
        if not envelope:
            rows.grain[row[stamped]] = peeled.grain[stamped]

    def _derive(self, rows: Rows, text: pl.Series, places: npt.NDArray[np.int64], sites: bool, depth: int = 0,
                done: bool = False, joined: bool = False) -> None:
        """Go on with rewritten text in place of some rows' own."""
        block = from_series(text, places.astype(np.int32))
        rows.blocks.append(block)
        rows.block[places] = len(rows.blocks) - 1
        rows.place[places] = np.arange(len(block), dtype=np.int32)
        if not done:
            self._read(rows, len(rows.blocks) - 1, np.arange(len(block), dtype=np.int64), sites, depth + 1, joined)

    # ---- wrappers that are JSON ------------------------------------------------
    def _json(self, rows: Rows, block: int, braces: Places, sites: bool, depth: int) -> Places:
        """Unwrap lines that are JSON objects of a known kind; returns the places that were."""
        lines = rows.blocks[block]
        text = lines.text(braces)
        frame = wrapped_json.read(text)
        wrapped = frame["place"].to_numpy()
        taken: list[Places] = []
        if len(wrapped):
            taken.append(self._wrapped(rows, lines, braces[wrapped], frame, sites, depth))
        others = np.delete(np.arange(len(braces)), wrapped)
        if len(others):
            taken.append(self._records(rows, lines, braces[others], text.gather(others), sites, depth))
        return np.concatenate(taken)

    def _wrapped(self, rows: Rows, lines: Lines, places: Places, frame: pl.DataFrame, sites: bool, depth: int) -> Places:
        row = lines.row[places].astype(np.int64)
        header = self._json_keys.number(
            frame["key"], lambda fresh, _: [self.headers.single(wrapped_json.FORM, k, partial(_wrapped_header, k)) for k in fresh])
        rows.header[row] = self.headers.below(rows.header[row], header)
        stamped = frame["stamp"].is_not_null().to_numpy()
        rows.envelope_time[row[stamped]] = self._json_stamp.read(frame["stamp"].drop_nulls())[0]
        self._derive(rows, frame["text"], row, sites, depth)
        return places

    def _records(self, rows: Rows, lines: Lines, places: Places, text: pl.Series, sites: bool, depth: int) -> Places:
        frame = record_json.read(text)
        good = np.flatnonzero(frame["ok"].is_not_null().to_numpy())
        if not len(good):
            return places[:0]
        frame, places = frame[good], places[good]
        row = lines.row[places].astype(np.int64)
        header = self._json_keys.number(
            frame["key"], lambda fresh, _: [self.headers.single(record_json.FORM, k, partial(record_json.header, k)) for k in fresh])
        rows.header[row] = self.headers.below(rows.header[row], header)
        for kind, stamps in record_json.stamps(frame):
            read, grain = StampReader(kind).read(stamps)
            rows.time[row], rows.grain[row] = read, grain
        self._derive(rows, frame["text"], row, sites, depth, done=True)
        return places

    # ---- lines in pieces -------------------------------------------------------
    def _join(self, rows: Rows, block: int, places: Places, sites: bool, depth: int) -> Places:
        """Join the pieces of cut lines; returns the places that go on as they are."""
        known = self.headers.known
        header = rows.header[rows.blocks[block].row[places]]
        present = np.unique(header)
        cutting = [h for h in present.tolist() if known[h].fields.get("partial")]
        if not cutting or (not self.joiner._open and not any(known[h].fields["partial"] == "P" for h in cutting)):
            return places
        lines = rows.blocks[block]
        stream = {h: _stream(known[h]) for h in cutting}
        busy = {stream[h] for h in cutting if known[h].fields["partial"] == "P"} | set(self.joiner._open)
        concerned = np.isin(header, [h for h in cutting if stream[h] in busy])
        texts = lines.text(places[concerned])
        kept: list[int] = []
        finished: dict[int, str] = {}
        for place, text, number in zip(places[concerned].tolist(), texts, header[concerned].tolist(), strict=True):
            name, closes = stream[number], known[number].fields["partial"] == "F"
            if closes and not self.joiner.waits(name):
                kept.append(place)
                continue
            row = int(lines.row[place])
            done = self.joiner.add(name, row, text, closes)
            if done is None:
                rows.dropped[row] = True
                continue
            first, whole, _ = done
            rows.dropped[row] = row != first
            rows.dropped[first] = False
            finished[first] = whole
        if finished:
            self._derive(rows, pl.Series(list(finished.values())), np.array(list(finished)), sites, depth, joined=True)
        return np.sort(np.concatenate([places[~concerned], np.array(kept, np.int64)]))


def _wrapped_header(key: str) -> Header:
    return Header(wrapped_json.fields(key), (wrapped_json.FORM,))


def _stream(header: Header) -> str:
    return "\0".join(header.fields.get(name, "") for name in ("node", "namespace", "pod", "container", "stream"))


