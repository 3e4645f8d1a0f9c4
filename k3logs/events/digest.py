"""What triage keeps of one source: lines that matter, and for every stream of lines its first, last and count.

Its size does not grow with the log: of lines alike but for numbers, per header, a bounded count is kept, and how many
there were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from k3logs.events.alike import Alike
from k3logs.events.extract import Extractor
from k3logs.events.gates import AFTER, HOT, KEPT, ODD, Gates, with_neighbours
from k3logs.events.headers import MAX_KEYS, Headers
from k3logs.events.keys import Hashes
from k3logs.events.rows import Mask, Places, Rows
from k3logs.events.spool import Spool, Spooled
from k3logs.events.stamps import NO_TIME
from k3logs.sources.chunks import CHUNK, chunks
from k3logs.sources.source import Source

MAX_TEXT = 16_384
"""Characters of a line that triage looks at; the log itself and ``parse`` keep all."""

MAX_ROWS = 60_000
"""Lines kept per source at most; the first ones win, and the notice says so."""

_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL", "E", "F", "WARN"})
"""Levels that keep a line whatever it says (NCCL's WARN is its error level)."""

FIRST_CHUNK = 2 << 20
_LAST_TEXT = 300


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
    (ns), message, raw, alike (lines alike so far that were kept). ``spooled`` is what is known of every line, if that was asked for.
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
    spooled: Spooled | None = None


class Digester:
    """Digests one source chunk by chunk; with a ``spool`` what is known of every line is kept there."""

    def __init__(self, extractor: Extractor, gates: Gates, source: Source, spool: Spool | None = None) -> None:
        self._extractor = extractor
        self._gates = gates
        self._alike = Alike()
        self._uses = _Uses()
        self._frames: list[pl.DataFrame] = []
        self._kept = 0
        self._after = 0
        self._loud = np.zeros(0, np.bool_)
        self._claimed = np.zeros(0, np.bool_)
        self.digest = Digest(source, extractor.headers, pl.DataFrame(), spooled=None if spool is None else Spooled(spool))

    def add(self, data: bytearray, size: int, lent: bool = False) -> None:
        """Digest one chunk; ``lent`` where the newline that ends it does not stand in the log."""
        self._add_rows(self._extractor.chunk(data, size, times=self.digest.spooled is not None), size, lent)
        self.digest.bytes += size

    def _add_rows(self, rows: Rows, size: int | None, lent: bool = False) -> None:
        """Digest the rows of one chunk, of ``size`` bytes if it is a piece of the log; unless spooled, their times need not have been read."""
        digest = self.digest
        if not len(rows):
            return
        answers, keys = self._gates.of_rows(rows)
        kept, hot = answers & KEPT != 0, answers & HOT != 0
        self._levels()
        hot |= self._loud[rows.header]
        first, last, present = self._uses.places(rows, len(self._extractor.headers))
        which = self._choose(rows, kept | hot, hot, keys)
        if digest.spooled is None:
            wanted = np.zeros(len(rows), np.bool_)
            wanted[which] = wanted[first] = wanted[last] = True
            rows.read_times(wanted)
        else:
            digest.spooled.add(rows, answers & ODD != 0, size, lent)
        self._uses.note(rows, digest.lines, first, last, present)
        self._keep(rows, which)
        digest.parsed += int(np.count_nonzero(self._claimed[rows.header] & (rows.part == 0)))
        digest.lines += rows.newlines
        if rows.repaired:
            digest.skipped["not UTF-8"] = digest.skipped.get("not UTF-8", 0) + rows.repaired

    def _levels(self) -> None:
        known = self._extractor.headers.known
        fresh = known[len(self._loud) :]
        if fresh:
            self._loud = np.concatenate([self._loud, np.array([h.level in _LOUD for h in fresh], np.bool_)])
            self._claimed = np.concatenate([self._claimed, np.array([h.dialect is not None for h in fresh], np.bool_)])
            self._alike.learn(known)

    def _choose(self, rows: Rows, wanted: Mask, hot: Mask, keys: Hashes) -> Places:
        """The rows that are kept: those wanted, and the neighbours of hot ones, unless there were enough of their kind."""
        own = np.flatnonzero(wanted & ~rows.dropped)
        if self._kept >= MAX_ROWS:
            self._skip("beyond the limit", len(own))
            return own[:0]
        good, near = self._alike.admit(rows, own, hot[own], keys[own])
        lead = np.zeros(len(rows), np.bool_)
        lead[own[near & hot[own]]] = True
        wide = with_neighbours(lead, lead)
        wide[: self._after] = True
        self._after = max(0, AFTER - int(np.argmax(lead[::-1]))) if lead.any() else max(0, self._after - len(rows))
        others = np.flatnonzero(wide & ~wanted & ~rows.dropped)
        beside, _ = self._alike.admit(rows, others, np.zeros(len(others), np.bool_), keys[others])
        self._skip("alike", int(np.count_nonzero(~good)) + int(np.count_nonzero(~beside)))
        kept = np.sort(np.concatenate([own[good], others[beside]]))
        self._skip("beyond the limit", len(kept) - (MAX_ROWS - self._kept))
        return kept[: MAX_ROWS - self._kept]

    def _skip(self, why: str, count: int) -> None:
        if count > 0:
            self.digest.skipped[why] = self.digest.skipped.get(why, 0) + count

    def _keep(self, rows: Rows, which: Places) -> None:
        if not len(which):
            return
        kept = pl.DataFrame(
            {
                "line": rows.number[which].astype(np.int64) + self.digest.lines + 1,
                "part": rows.part[which],
                "header": rows.header[which],
                "time": rows.time[which],
                "envelope_time": rows.envelope_time[which],
                "grain": rows.grain[which],
                "message": rows.messages(which).str.slice(0, MAX_TEXT),
                "raw": rows.raws(which).str.slice(0, MAX_TEXT),
                "site": rows.site_texts(which),
            }
        )
        self._kept += len(kept)
        # the texts are views on the chunk's buffer: copy them out, or the whole chunk lives on
        self._frames.append(kept.with_columns(pl.col("message", "raw", "site") + ""))

    def finish(self) -> Digest:
        """The digest of all chunks added."""
        rest = self._extractor.rest()
        if rest is not None:
            self._add_rows(rest, None)
        digest, headers = self.digest, self._extractor.headers
        if self._frames:
            digest.rows = pl.concat(self._frames).rechunk()
        digest.uses = self._uses.all()
        for number, use in digest.uses.items():
            dialect = headers.known[number].dialect or "untagged"
            digest.by_dialect[dialect] = digest.by_dialect.get(dialect, 0) + use.count
        if headers.overflowed:
            forms = ", ".join(sorted(headers.overflowed))
            digest.notices.append(f"more than {MAX_KEYS} different headers ({forms}): the rest is known by its form alone")
        return digest


class _Uses:
    """The :class:`Use` of every header, as columns until the end."""

    _COLUMNS = ("count", "first_line", "last_line", "first_time", "last_time", "first_envelope", "last_envelope")

    def __init__(self) -> None:
        self._columns = {name: np.zeros(0, np.int64) for name in self._COLUMNS}
        self._texts: list[str] = []

    def places(self, rows: Rows, headers: int) -> tuple[Places, Places, Places]:
        """First and last row of each header in a chunk, and which headers those are."""
        count = np.bincount(rows.header, minlength=headers)
        present = np.flatnonzero(count)
        order = np.arange(len(rows), dtype=np.int64)
        first, last = np.zeros(headers, np.int64), np.zeros(headers, np.int64)
        last[rows.header] = order
        first[rows.header[::-1]] = order[::-1]
        more = headers - len(self._texts)
        if more > 0:
            self._columns = {name: np.concatenate([column, np.zeros(more, np.int64)]) for name, column in self._columns.items()}
            self._texts += [""] * more
        self._columns["count"] += count
        return first[present], last[present], present

    def note(self, rows: Rows, lines: int, first: Places, last: Places, present: Places) -> None:
        """Take in a chunk that begins after ``lines`` lines; the times of its ``first`` and ``last`` rows have been read."""
        own = self._columns
        new = own["last_line"][present] == 0
        for name, column, shift in (("line", rows.number, lines + 1), ("time", rows.time, 0), ("envelope", rows.envelope_time, 0)):
            own[f"first_{name}"][present[new]] = column[first[new]].astype(np.int64) + shift
            own[f"last_{name}"][present] = column[last].astype(np.int64) + shift
        for header, text in zip(present.tolist(), rows.messages(last).str.slice(0, _LAST_TEXT).to_list(), strict=True):
            self._texts[header] = text

    def all(self) -> dict[int, Use]:
        """Header number -> its use, in the order in which the log first has them."""
        present = np.flatnonzero(self._columns["count"])
        present = present[np.argsort(self._columns["first_line"][present], kind="stable")]
        columns = {name: column[present].tolist() for name, column in self._columns.items()}
        found = {}
        for place, header in enumerate(present.tolist()):
            found[header] = Use(**{name: column[place] for name, column in columns.items()}, last_text=self._texts[header])
        return found


def digest(source: Source, extractor: Extractor, gates: Gates, progress: Callable[[str, int], None] | None = None, spool: Spool | None = None) -> Digest:
    """Read one source to its end; with a ``spool`` what is known of every line is kept there."""
    digester = Digester(extractor, gates, source, spool)
    stream = source.open()
    try:
        for data, used, forced in chunks(stream, CHUNK, FIRST_CHUNK):
            digester.add(data, used, forced)
            if forced:
                digester.digest.notices.append("a line of more than 64 MiB was cut")
            if progress is not None:
                progress(source.name, digester.digest.bytes)
    finally:
        stream.close()
    return digester.finish()
