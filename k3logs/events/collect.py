"""A digest's kept lines, with what each message is by itself: a frame, an exception's own line, an abort."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from k3logs import redact
from k3logs.events import glued
from k3logs.events.digest import Digest
from k3logs.events.extract import Extractor
from k3logs.events.headers import Headers
from k3logs.events.lines import from_series
from k3logs.events.peel import Peeler
from k3logs.events.record import Event, Line
from k3logs.events.records import build
from k3logs.grammar.bundle import Bundle


class Collector:
    """Turns digests into events."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._texts = Peeler(bundle.texts, Headers(), dialect=True)

    def events(self, digest: Digest, source: int) -> list[Event]:
        """The events of one digest; ``source`` is its number."""
        return build(digest, self._lines(digest), source)

    def _lines(self, digest: Digest) -> Iterator[Line]:
        rows = digest.rows
        if not len(rows):
            return
        if rows["message"].str.contains("PRIVATE KEY-----", literal=True).any():
            # the lines of a key look like anything, an exception's name too
            rows = rows.with_columns(message=redact.Columns().mask(rows["message"], rows["header"].to_numpy()))
        several = rows["message"].str.contains("\n", literal=True)
        if several.any():  # records that came as one JSON object with their lines inside
            rows = rows.with_columns(rows["message"].str.split("\n")).explode("message")
        rows = glued.split(rows, digest.uses, digest.headers, lambda data, size: Extractor(self._bundle, digest.headers).chunk(data, size))
        lines = from_series(rows["message"].fill_null(""), np.arange(len(rows), dtype=np.int32))
        empty: dict[str, str] = {}
        forms: dict[int, tuple[str, dict[str, str]]] = {}
        for form, places, columns in self._texts.columns(lines, np.arange(len(rows), dtype=np.int64)):
            if columns.is_empty():
                forms |= dict.fromkeys(places.tolist(), (form.id, empty))
                continue
            for place, fields in zip(places.tolist(), columns.to_dicts(), strict=True):
                forms[place] = form.id, {k: v for k, v in fields.items() if v is not None}
        for place, row in enumerate(rows.iter_rows(named=True)):
            text_form, fields = forms.get(place, ("", empty))
            yield Line(row["line"], row["part"], row["header"], row["time"], row["envelope_time"], row["grain"],
                       row["message"] or "", row["raw"], row["site"], text_form, fields)
