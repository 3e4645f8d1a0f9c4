"""How lines are read, layer by layer, with the engine's own readers; and where an unread one leaves each grammar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from k3logs.reports import words
from k3logs.reports.safe import one_line

if TYPE_CHECKING:
    from k3logs.grammar.line import LineGrammar


@dataclass(slots=True)
class Reading:
    """What was read of one line, or of one of several records in it.

    Attributes:
        forms: peeled wrappers, then the dialect's form, then what the message itself is, each as ``grammar.form``.
        read: whether anything but wrappers was recognised.
    """

    line: int
    part: int
    raw: str
    forms: list[str]
    fields: dict[str, str]
    message: str
    time: int | None
    envelope_time: int | None
    dated: bool
    read: bool

    @property
    def goes_on(self) -> bool:
        """Whether it looks like a further line of the record before it, as source lines in a traceback do."""
        return not self.read and self.message[:2].isspace()


def readings(data: bytes, grammars: Sequence[Path] = ()) -> Iterator[Reading]:
    """Read whole lines as ``triage`` and ``parse`` do.

    Raises:
        AuthorError: a grammar that its author must mend.
    """
    import numpy as np

    from k3logs.events.extract import Extractor
    from k3logs.events.headers import Headers
    from k3logs.events.lines import PAD, from_series
    from k3logs.events.peel import Peeler
    from k3logs.events.stamps import NO_TIME, has_year
    from k3logs.grammar import bundle

    data = data if data.endswith(b"\n") else data + b"\n"
    compiled = bundle.load(grammars)
    extractor = Extractor(compiled)
    rows = extractor.chunk(bytearray(data) + bytearray(PAD), len(data))
    every = np.arange(len(rows), dtype=np.int64)
    messages = rows.messages(every)
    texts: dict[int, tuple[str, dict[str, str]]] = {}
    for form, places, columns in Peeler(compiled.texts, Headers(), dialect=True).columns(from_series(messages, every.astype(np.int32)), every):
        for n, place in enumerate(places.tolist()):
            found = {} if columns.is_empty() else {k: v for k, v in columns.row(n, named=True).items() if v is not None}
            texts[place] = form.id, found
    raws = rows.raw.text().to_list()
    for place, (message, raw) in enumerate(zip(messages.to_list(), raws, strict=True)):
        if rows.dropped[place]:
            continue
        header = extractor.headers.known[int(rows.header[place])]
        text, fields = texts.get(place, ("", {}))
        stamps = [None if int(t[place]) == NO_TIME else int(t[place]) for t in (rows.time, rows.envelope_time)]
        yield Reading(int(rows.number[place]) + 1, int(rows.part[place]), raw or "", [*header.forms, *([text] if text else [])],
                      header.fields | {k: v for k, v in fields.items() if k != "message"}, message or "", stamps[0], stamps[1],
                      has_year(header.stamp), bool(header.dialect or text))  # fmt: skip


def shown(reading: Reading) -> str:
    """A reading in words."""
    part = f", part {reading.part + 1}" if reading.part else ""
    rows = [("line", f"{reading.line}{part}"), ("forms", " > ".join(reading.forms) or "none: kept as plain text")]
    rows += [(name, one_line(value, 200)) for name, value in reading.fields.items() if name != "form"]
    if reading.time is not None:
        stamp = words.clock(reading.time)
        rows.append(("time", stamp if reading.dated else f"{stamp[5:].rstrip('Z')} (no year printed)"))
    rows += [("read at", words.clock(reading.envelope_time))] if reading.envelope_time is not None else []
    rows += [("message", one_line(reading.message, 1000))]
    width = max(len(name) for name, _ in rows)
    return "".join(f"  {name:<{width}}  {text}\n" for name, text in rows)


def departures(text: str, grammars: Sequence[Path] = (), most: int = 3) -> Iterator[str]:
    """Where ``text`` leaves the grammars that went furthest with it, the best first, two lines each."""
    from lark.exceptions import UnexpectedInput

    found: list[tuple[int, str, LineGrammar]] = []
    for grammar in line_grammars(grammars):
        try:
            grammar.lark.parse(text)
        except UnexpectedInput as error:
            at = error.pos_in_stream
            found.append((len(text) if at is None or at < 0 else at, grammar.name, grammar))
    for at, name, grammar in sorted(found, key=lambda row: (-row[0], row[1]))[:most]:
        if at:
            yield f"{name} reads {one_line(text[:at], 60)!r}, then {expectation(grammar, text)}"


def expectation(grammar: LineGrammar, text: str) -> str:
    """What the grammar expected where ``text`` left it."""
    from lark.lexer import PatternStr

    texts = {t.name: repr(t.pattern.value) for t in grammar.lark.terminals if isinstance(t.pattern, PatternStr)}
    wanted = grammar.explain(text).rpartition("expected: ")[2].split(", ")
    return f"expects {' or '.join(texts.get(name, name.strip('_').lower()) for name in wanted)}"


def line_grammars(extra: Sequence[Path] = (), kinds: Sequence[str] = ("envelopes", "dialects")) -> Iterator[LineGrammar]:
    """Every line grammar, read by Lark from its file."""
    from k3logs.grammar.line import LineGrammar
    from k3logs.paths import data_folder

    shipped = data_folder("grammars")
    for root in (shipped, *extra):
        for kind in kinds:
            for file in sorted((root / kind).glob("*.lark")):
                yield LineGrammar(file, shipped)
