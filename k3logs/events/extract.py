"""One chunk of bytes -> what is known of each of its lines. The only place where log bytes are read.

    cut into lines -> colours off -> wrappers peeled, again and again -> pieces joined -> one dialect header -> message

``parse`` keeps every line of the result, ``triage`` those that matter; both come from here.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.envelopes import ansi, docker_json, record_json, wrapped_json
from k3logs.events.headers import Header, Headers, KeyColumn
from k3logs.events.lines import PAD, Lines, cut, from_series, views
from k3logs.events.partials import First, Joiner, Whole
from k3logs.events.peel import Peeled, Peeler, Places
from k3logs.events.rows import Mask, Pieces, Rows
from k3logs.events.stamps import StampReader
from k3logs.grammar.bundle import Bundle

MAX_LAYERS = 8
"""Wrappers around wrappers; more than four have not been seen."""

_BLOCK = 400
"""Lines looked over at once for what few logs have."""

_BRACE = 123
_CUT, _LAST = 1, 2
_PIECE = {"P": _CUT, "F": _LAST}

Rewritten = list[tuple[Places, pl.Series]]
"""Rows with the text that stands for theirs from now on."""


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
        self._record_stamps = {kind: StampReader(kind) for kind in record_json.STAMPS}
        self._json_keys = KeyColumn()
        self._joiner = Joiner()
        self._piece = np.zeros(1, np.uint8)
        self._streams: dict[tuple[str, ...], int] = {}
        self._stream = np.zeros(1, np.int32)
        self._before = 0

    def chunk(self, data: bytearray, size: int, times: bool = True) -> Rows:
        """Read ``data[:size]``: whole lines, with ``lines.PAD`` bytes behind.

        Args:
            times: read all stamps now; else :meth:`Rows.read_times` does it later.
        """
        pieces = cut(data, size)
        rows = Rows.of(pieces)
        rest: Places = np.arange(len(rows), dtype=np.int64)
        coloured = self._coloured(rows.raw, pieces.escapes)
        done = np.zeros(len(rows), np.bool_)
        rewritten: Rewritten = []
        if len(coloured):
            rewritten.append((coloured, ansi.strip(rows.raw.text(coloured))))
            rest = _without(rest, coloured, len(rows))
        self._unwrap(rows, done, rows.blocks[0], rest, rewritten)
        for _ in range(MAX_LAYERS):
            if not rewritten:
                break
            block = self._derive(rows, rewritten)
            rewritten = []
            self._unwrap(rows, done, block, np.arange(len(block), dtype=np.int64), rewritten)
        self._join(rows)
        self._read(rows, done)
        self._before += rows.newlines
        if times:
            rows.read_times()
        return rows

    def rest(self) -> Rows | None:
        """At the end of the source: lines whose last piece never came, as a chunk of their own."""
        open_ = self._joiner.rest()
        if not open_:
            return None
        text = "".join(whole.text.replace("\n", " ") + "\n" for whole in open_).encode()
        rows = Rows.of(cut(bytearray(text + bytes(PAD)), len(text)))
        done = np.zeros(len(rows), np.bool_)
        for row, whole in enumerate(open_):
            self._place(rows, row, whole)
        rows.take_stamps(range(len(open_)))
        self._read(rows, done)
        rows.newlines = 0
        rows.read_times()
        return rows

    # ---- wrappers ------------------------------------------------------------
    @staticmethod
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

    def _unwrap(self, rows: Rows, done: Mask, lines: Lines, rest: Places, rewritten: Rewritten) -> None:
        """Peel all wrappers off the lines ``rest`` of a block; those whose text changes on the way are put into ``rewritten``."""
        for _ in range(MAX_LAYERS):
            braces = rest[lines.buffer[lines.start[rest]] == _BRACE]
            if len(braces):
                rest = _without(rest, self._json(rows, done, lines, braces, rewritten), len(lines))
            peeled = self._envelopes.peel(lines, rest)
            if peeled is None:
                return
            self._note(rows, lines, peeled, envelope=True)
            rest = peeled.place

    def _note(self, rows: Rows, lines: Lines, peeled: Peeled, envelope: bool) -> None:
        row = lines.row[peeled.place]
        rows.header[row] = self.headers.below(rows.header[row], peeled.header)
        for spans in peeled.stamps:
            rows.stamps.append(Pieces(lines.row[spans.place].astype(np.int64), lines, spans.start, spans.size, spans.reader, envelope))
        if not envelope:
            for spans in peeled.sites:
                rows.sites.append(Pieces(lines.row[spans.place].astype(np.int64), lines, spans.start, spans.size))

    @staticmethod
    def _derive(rows: Rows, rewritten: Rewritten) -> Lines:
        """A block of rewritten text, in place of some rows' own."""
        row = np.concatenate([places for places, _ in rewritten])
        block = from_series(pl.concat([text.rename("") for _, text in rewritten]), row.astype(np.int32))
        rows.blocks.append(block)
        rows.block[row], rows.place[row] = len(rows.blocks) - 1, np.arange(len(row), dtype=np.int32)
        return block

    def _json(self, rows: Rows, done: Mask, lines: Lines, braces: Places, rewritten: Rewritten) -> Places:
        """Unwrap lines that are JSON objects of a known kind; returns the places that are not read any further here."""
        split = docker_json.split(lines.buffer, lines.start[braces].astype(np.int64), lines.end[braces].astype(np.int64))
        gone = [self._docker(rows, lines, braces[split.which], split, rewritten)]
        others = _without(braces, braces[split.which], len(lines))
        if len(others):
            frame = wrapped_json.read(lines.text(others))
            wrapped = others[frame["place"].to_numpy()]
            self._wrapped(rows, lines, wrapped, frame, rewritten)
            gone += [wrapped, self._records(rows, done, lines, _without(others, wrapped, len(lines)))]
        return np.concatenate(gone)

    def _docker(self, rows: Rows, lines: Lines, places: Places, split: docker_json.Split, rewritten: Rewritten) -> Places:
        """Docker's own json-file: most of its lines need no decoding and are read where they stand."""
        if not len(places):
            return places
        row = lines.row[places].astype(np.int64)
        kinds = [self._json_header(wrapped_json.key(stream=stream, partial="F")) for stream in docker_json.STREAMS]
        rows.header[row] = self.headers.below(rows.header[row], np.array(kinds, np.int32)[split.stderr.astype(np.int64)])
        rows.stamps.append(Pieces(row, lines, split.stamp, split.stamp_size.astype(np.int32), self._json_stamp, envelope=True))
        lines.start[places], lines.end[places] = split.start, split.end
        text = lines.text(places)
        escaped = np.flatnonzero(text.str.contains("\\", literal=True).to_numpy())
        if len(escaped):
            rewritten.append((row[escaped], wrapped_json.decoded(text.gather(escaped))))
        decoded: Places = places[escaped]
        return decoded

    def _wrapped(self, rows: Rows, lines: Lines, places: Places, frame: pl.DataFrame, rewritten: Rewritten) -> None:
        if not len(places):
            return
        row = lines.row[places].astype(np.int64)
        header = self._json_keys.number(frame["key"], lambda fresh, _: [self._json_header(key) for key in fresh])
        rows.header[row] = self.headers.below(rows.header[row], header)
        stamped = frame["stamp"].is_not_null().to_numpy()
        if stamped.any():
            stamps = from_series(frame["stamp"].drop_nulls(), row[stamped].astype(np.int32))
            rows.stamps.append(Pieces(row[stamped], stamps, stamps.start.astype(np.int64), stamps.end - stamps.start, self._json_stamp, envelope=True))
        rewritten.append((row, frame["text"]))

    def _json_header(self, key: str) -> int:
        return self.headers.single(wrapped_json.FORM, key, partial(_wrapped_header, key))

    def _records(self, rows: Rows, done: Mask, lines: Lines, places: Places) -> Places:
        text = lines.text(places)
        coloured = ansi.carries(text)
        if coloured.any():
            text = text.scatter(coloured.arg_true(), ansi.strip(text.filter(coloured)))
        frame = record_json.read(text)
        good = np.flatnonzero(frame["ok"].is_not_null().to_numpy())
        if not len(good):
            return places[:0]
        frame, places = frame[good], places[good]
        row = lines.row[places].astype(np.int64)
        header = self._json_keys.number(
            frame["key"], lambda fresh, _: [self.headers.single(record_json.FORM, k, partial(record_json.header, k)) for k in fresh])
        rows.header[row] = self.headers.below(rows.header[row], header)
        for kind, which, stamps in record_json.stamps(frame):
            rows.time[row[which]], rows.grain[row[which]] = self._record_stamps[kind].read_text(stamps)
        self._derive(rows, [(row, frame["text"])])
        done[row] = True
        return places

    # ---- lines in pieces -------------------------------------------------------
    def _join(self, rows: Rows) -> None:
        """Join the pieces of lines that the runtime cut."""
        self._learn_pieces()
        piece = self._piece[rows.header]
        waiting = self._joiner.waiting
        if not waiting and not (piece == _CUT).any():
            return
        among = np.flatnonzero(piece)
        among = among[np.argsort(self._stream[rows.header[among]], kind="stable")]
        stream = self._stream[rows.header[among]]
        opens = piece[among] == _CUT
        same = np.zeros(len(among), np.bool_)
        same[1:] = stream[1:] == stream[:-1]
        follows = np.zeros(len(among), np.bool_)
        follows[1:] = opens[:-1] & same[1:]
        if waiting:
            follows |= ~same & np.isin(stream, waiting)
        concerned = np.sort(among[opens | follows])
        if not len(concerned):
            return
        texts = rows.messages(concerned).to_list()
        raws = rows.raws(concerned).to_list()
        wanted = np.zeros(len(rows), np.bool_)
        wanted[concerned] = True
        rows.read_times(wanted)
        finished: dict[int, str] = {}
        for row, text, raw in zip(concerned.tolist(), texts, raws, strict=True):
            first = First(self._before + int(rows.number[row]), int(rows.part[row]), int(rows.header[row]), raw, int(rows.envelope_time[row]))
            whole = self._joiner.add(int(self._stream[rows.header[row]]), first, text, bool(piece[row] == _LAST))
            if whole is None:
                rows.dropped[row] = True
                continue
            self._place(rows, row, whole)
            finished[row] = whole.text
        rows.take_stamps(list(finished))
        if finished:
            self._derive(rows, [(np.array(list(finished), np.int64), pl.Series(list(finished.values())))])

    def _place(self, rows: Rows, row: int, whole: Whole) -> None:
        first = whole.first
        rows.take_place(row, first.line - self._before, first.part, first.header, first.raw, first.envelope_time)

    def _learn_pieces(self) -> None:
        fresh = self.headers.known[len(self._piece) :]
        if not fresh:
            return
        piece = [_PIECE.get(header.fields.get("partial", ""), 0) for header in fresh]
        names = [tuple(header.fields.get(name, "") for name in ("node", "namespace", "pod", "container", "stream")) for header in fresh]
        self._piece = np.concatenate([self._piece, np.array(piece, np.uint8)])
        self._stream = np.concatenate([self._stream, np.array([self._streams.setdefault(n, len(self._streams)) for n in names], np.int32)])

    # ---- what is left ------------------------------------------------------------
    def _read(self, rows: Rows, done: Mask) -> None:
        """Peel one dialect's header off each line."""
        open_ = ~(done | rows.dropped)
        for number, lines in enumerate(rows.blocks):
            row = lines.row
            among = np.flatnonzero(open_[row] & (rows.block[row] == number))
            peeled = self._dialects.peel(lines, among) if len(among) else None
            if peeled is not None:
                self._note(rows, lines, peeled, envelope=False)


def _wrapped_header(key: str) -> Header:
    return Header(wrapped_json.fields(key), (wrapped_json.FORM,))


def _without(places: Places, gone: Places, count: int) -> Places:
    """``places`` (below ``count``) but for those in ``gone``."""
    if not len(gone):
        return places
    kept = np.ones(count, np.bool_)
    kept[gone] = False
    return places[kept[places]]
