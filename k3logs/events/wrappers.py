"""Wrappers around lines, peeled again and again from the outside in: those that grammars know, and JSON."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from k3logs.envelopes import ansi, docker_json, record_json, wrapped_json
from k3logs.events.headers import Header, Headers, KeyColumn
from k3logs.events.lines import Lines, from_series
from k3logs.events.peel import Peeler
from k3logs.events.reading import Block, Reading, without
from k3logs.events.rows import Pieces, Places
from k3logs.events.stamps import StampReader
from k3logs.grammar.bundle import Bundle

MAX_LAYERS = 8
"""Wrappers around wrappers; more than four have not been seen."""

BRACE = 123


class Wrappers:
    """Takes the wrappers off lines of one source."""

    def __init__(self, bundle: Bundle, headers: Headers) -> None:
        self._headers = headers
        self._peeler = Peeler(bundle.envelopes, headers, dialect=False)
        self._json_stamp = StampReader(("RFC3339",))
        self._record_stamps = {kind: StampReader(kind) for kind in record_json.STAMPS}
        self._json_keys = KeyColumn()

    def unwrap(self, reading: Reading, block: Block, rest: Places) -> None:
        """Peel all wrappers off the lines ``rest`` of a block; lines whose text changes on the way are put into ``reading.rewritten``."""
        lines = block.lines
        for _ in range(MAX_LAYERS):
            braces = rest[lines.buffer[lines.start[rest]] == BRACE]
            if len(braces):
                block.odd[braces] = True
                rest = without(rest, self.json(reading, lines, braces), len(lines))
            peeled = self._peeler.peel(lines, rest)
            if peeled is None:
                return
            reading.note(block, peeled)
            rest = peeled.place

    def json(self, reading: Reading, lines: Lines, braces: Places) -> Places:
        """Unwrap lines that are JSON objects of a known kind; returns the places that are not read any further here."""
        split = docker_json.split(lines.buffer, lines.start[braces].astype(np.int64), lines.end[braces].astype(np.int64))
        gone = [self._docker(reading, lines, braces[split.which], split)]
        others = without(braces, braces[split.which], len(lines))
        if len(others):
            frame = wrapped_json.read(lines.text(others))
            wrapped = others[frame["place"].to_numpy()]
            self._wrapped(reading, lines, wrapped, frame)
            gone += [wrapped, self._records(reading, lines, without(others, wrapped, len(lines)))]
        return np.concatenate(gone)

    def _docker(self, reading: Reading, lines: Lines, places: Places, split: docker_json.Split) -> Places:
        """Docker's own json-file: most of its lines need no decoding and are read where they stand."""
        if not len(places):
            return places
        rows = reading.rows
        row = lines.row[places].astype(np.int64)
        kinds = [self._json_header(wrapped_json.key(stream=stream, partial="F")) for stream in docker_json.STREAMS]
        rows.header[row] = self._headers.below(rows.header[row], np.array(kinds, np.int32)[split.stderr.astype(np.int64)])
        rows.stamps.append(Pieces(row, lines, split.stamp, split.stamp_size.astype(np.int32), self._json_stamp, envelope=True))
        lines.start[places], lines.end[places] = split.start, split.end
        text = lines.text(places)
        escaped = np.flatnonzero(text.str.contains("\\", literal=True).to_numpy())
        if len(escaped):
            reading.rewritten.append((row[escaped], wrapped_json.decoded(text.gather(escaped))))
        decoded: Places = places[escaped]
        return decoded

    def _wrapped(self, reading: Reading, lines: Lines, places: Places, frame: pl.DataFrame) -> None:
        if not len(places):
            return
        rows = reading.rows
        row = lines.row[places].astype(np.int64)
        header = self._json_keys.number(frame["key"], lambda fresh, _: [self._json_header(key) for key in fresh])
        rows.header[row] = self._headers.below(rows.header[row], header)
        stamped = frame["stamp"].is_not_null().to_numpy()
        if stamped.any():
            stamps = from_series(frame["stamp"].drop_nulls(), row[stamped].astype(np.int32))
            rows.stamps.append(Pieces(row[stamped], stamps, stamps.start.astype(np.int64), stamps.end - stamps.start, self._json_stamp, envelope=True))
        reading.rewritten.append((row, frame["text"]))

    def _json_header(self, key: str) -> int:
        return self._headers.single(wrapped_json.FORM, key, partial(_wrapped_header, key))

    def _records(self, reading: Reading, lines: Lines, places: Places) -> Places:
        text = lines.text(places)
        coloured = ansi.carries(text)
        if coloured.any():
            text = text.scatter(coloured.arg_true(), ansi.strip(text.filter(coloured)))
        frame = record_json.read(text)
        good = np.flatnonzero(frame["ok"].is_not_null().to_numpy())
        if not len(good):
            return places[:0]
        frame, places = frame[good], places[good]
        rows = reading.rows
        row = lines.row[places].astype(np.int64)
        header = self._json_keys.number(
            frame["key"], lambda fresh, _: [self._headers.single(record_json.FORM, k, partial(record_json.header, k)) for k in fresh])
        rows.header[row] = self._headers.below(rows.header[row], header)
        for kind, which, stamps in record_json.stamps(frame):
            rows.time[row[which]], rows.grain[row[which]] = self._record_stamps[kind].read_text(stamps)
        reading.derive([(row, frame["text"])])
        reading.done[row] = True
        return places


def _wrapped_header(key: str) -> Header:
    return Header(wrapped_json.fields(key), (wrapped_json.FORM,))
