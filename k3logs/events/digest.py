"""What triage keeps of one source: lines that matter, and for every stream of lines its first, last and count.

Its size does not grow with the log: of lines alike but for numbers, per header, a bounded count is kept, and how many
there were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.extract import Extractor, Rows
from k3logs.events.gates import Gates, with_neighbours
from k3logs.events.headers import Headers
from k3logs.events.stamps import NO_TIME
from k3logs.sources.chunks import CHUNK, chunks
from k3logs.sources.source import Source

KEEP_ALIKE = 48
"""Failure lines alike but for numbers that are kept per header."""

KEEP_FACTS = 8
"""Other lines alike that are kept per header: enough for the communicators that one process opens."""

MAX_TEXT = 16_384
"""Characters of a line that triage looks at; the log itself and ``parse`` keep all."""

MAX_ROWS = 60_000
"""Lines kept per source at most; the first ones win, and the notice says so."""

_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL", "E", "F", "WARN"})
"""Levels that keep a line whatever it says (NCCL's WARN is its error level)."""

FIRST_CHUNK = 1 << 20


@dataclass(slots=True)
class Use:
    """One header's lines in a source."""

    count: int = 0
    first_line: int = 0
    last_line: int = 0
    first_time: int = NO_TIME
    last_time: int = NO_TIME
    first_envelope: int = NO_TIME
    last_envelope: int = NO_TIME
    last_text: str = ""


@dataclass(slots=True)
class Digest:
    """A source, digested.

    ``rows`` has one row per kept line: line (1-based), part, header, time, envelope_time (ns or :data:`NO_TIME`), grain
    (ns), message, raw, alike (lines alike so far that were kept).
    """

    source: Source
    headers: Headers
    rows: pl.DataFrame
    uses: dict[int, Use] = field(default_factory=dict)
    lines: int = 0
    bytes: int = 0
    parsed: int = 0
    by_dialect: dict[str, int] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)


class Digester:
    """Digests one source chunk by chunk."""

    def __init__(self, extractor: Extractor, gates: Gates, source: Source) -> None:
        self._extractor = extractor
        self._gates = gates
        self._seen: dict[int, int] = {}
        self._frames: list[pl.DataFrame] = []
        self._kept = 0
        self._loud = np.zeros(0, np.bool_)
        self._claimed = np.zeros(0, np.bool_)
        self.digest = Digest(source, extractor.headers, pl.DataFrame())

    def add(self, data: bytearray, size: int) -> None:
        """Digest one chunk."""
        rows = self._extractor.chunk(data, size, sites=True)
        digest = self.digest
        if not len(rows):
            digest.bytes += size
            return
        kept, hot = self._gates.of(rows.raw.text())
        self._levels()
        loud = self._loud[rows.header]
        kept |= loud
        kept = with_neighbours(kept, hot | loud) & ~rows.dropped
        self._use(rows)
        self._keep(rows, np.flatnonzero(kept), hot | loud)
        claimed = self._claimed[rows.header]
        digest.parsed += int(np.count_nonzero(claimed[rows.part == 0]))
        digest.lines += rows.newlines
        digest.bytes += size
        if rows.repaired:
            digest.skipped["not UTF-8"] = digest.skipped.get("not UTF-8", 0) + rows.repaired

    def _levels(self) -> None:
        known = self._extractor.headers.known
        fresh = known[len(self._loud) :]
        if fresh:
            self._loud = np.concatenate([self._loud, np.array([h.level in _LOUD for h in fresh], np.bool_)])
            self._claimed = np.concatenate([self._claimed, np.array([h.dialect is not None for h in fresh], np.bool_)])

    def _use(self, rows: Rows) -> None:
        """Note first and last line of every header."""
        count = np.bincount(rows.header, minlength=len(self._extractor.headers))
        present = np.flatnonzero(count)
        order = np.arange(len(rows), dtype=np.int32)
        first = np.zeros(len(count), np.int32)
        last = np.zeros(len(count), np.int32)
        last[rows.header] = order
        first[rows.header[::-1]] = order[::-1]
        texts = rows.messages(last[present].astype(np.int64)).str.slice(0, 300).to_list()
        for header, text in zip(present.tolist(), texts, strict=True):
            use = self.digest.uses.setdefault(header, Use())
            a, b = int(first[header]), int(last[header])
            if not use.count:
                use.first_line = self.digest.lines + int(rows.number[a]) + 1
                use.first_time, use.first_envelope = int(rows.time[a]), int(rows.envelope_time[a])
            use.count += int(count[header])
            use.last_line = self.digest.lines + int(rows.number[b]) + 1
            use.last_time, use.last_envelope = int(rows.time[b]), int(rows.envelope_time[b])
            use.last_text = text
            dialect = self._extractor.headers.known[header].dialect or "untagged"
            self.digest.by_dialect[dialect] = self.digest.by_dialect.get(dialect, 0) + int(count[header])

    def _keep(self, rows: Rows, which: npt.NDArray[np.int64], hot: npt.NDArray[np.bool_]) -> None:
        if not len(which) or self._kept >= MAX_ROWS:
            if len(which):
                self.digest.skipped["beyond the limit"] = self.digest.skipped.get("beyond the limit", 0) + len(which)
            return
        message = rows.messages(which)
        mask = message.str.slice(0, 300).str.replace_all("0x[0-9a-f]+|[0-9]+", "#")
        frame = pl.DataFrame(
            {
                "row": which,
                "header": rows.header[which],
                "alike": (mask.hash() ^ (pl.Series(rows.header[which]).cast(pl.UInt64) * 0x9E3779B1)).cast(pl.UInt64),
                "message": message,
            }
        ).with_columns(pl.int_range(pl.len()).over("alike").alias("turn"))
        keys, turns = frame["alike"].to_list(), frame["turn"].to_list()
        before = [self._seen.get(k, 0) for k in keys]
        limits = np.where(hot[which], KEEP_ALIKE, KEEP_FACTS).tolist()
        good = np.array([b + t < limit for b, t, limit in zip(before, turns, limits, strict=True)], np.bool_)
        for key, n in frame.group_by("alike").len().iter_rows():
            self._seen[key] = self._seen.get(key, 0) + n
        if not good.all():
            self.digest.skipped["alike"] = self.digest.skipped.get("alike", 0) + int(np.count_nonzero(~good))
        which = which[good]
        kept = pl.DataFrame(
            {
                "line": rows.number[which].astype(np.int64) + self.digest.lines + 1,
                "part": rows.part[which],
                "header": rows.header[which],
                "time": rows.time[which],
                "envelope_time": rows.envelope_time[which],
                "grain": rows.grain[which],
                "message": frame["message"].filter(pl.Series(good)).str.slice(0, MAX_TEXT),
                "raw": rows.raw.text(which).str.slice(0, MAX_TEXT),
                "site": self._sites(rows, which),
            }
        )
        self._kept += len(kept)
        # the texts are views on the chunk's buffer: copy them out, or the whole chunk lives on
        self._frames.append(kept.with_columns(pl.col("message", "raw") + ""))

    @staticmethod
    def _sites(rows: Rows, which: npt.NDArray[np.int64]) -> pl.Series:
        """Emitter file and line of the wanted rows, empty where there is none."""
        where = np.full(len(rows), -1, np.int32)
        base, parts = 0, []
        for places, site in rows.sites:
            where[places] = base + np.arange(len(places), dtype=np.int32)
            base += len(places)
            parts.append(site)
        if not parts:
            return pl.repeat("", len(which), eager=True)
        wanted = pl.Series(where[which])
        return pl.concat(parts).gather(wanted.set(wanted < 0, None)).fill_null("") + ""

    def finish(self) -> Digest:
        """The digest of all chunks added."""
        if self._frames:
            self.digest.rows = pl.concat(self._frames).rechunk()
        if self._extractor.headers.overflowed:
            forms = ", ".join(sorted(self._extractor.headers.overflowed))
            self.digest.notices.append(f"more than 20000 different headers ({forms}): the rest is known by its form alone")
        return self.digest


def digest(source: Source, extractor: Extractor, gates: Gates, size: int = CHUNK, progress: Callable[[str, int], None] | None = None) -> Digest:
    """Read one source to its end."""
    digester = Digester(extractor, gates, source)
    stream = source.open()
    try:
        for data, used, forced in chunks(stream, size, FIRST_CHUNK):
            digester.add(data, used)
            if forced:
                digester.digest.notices.append("a line of more than 64 MiB was cut")
            if progress is not None:
                progress(source.name, digester.digest.bytes)
    finally:
        stream.close()
    return digester.finish()
