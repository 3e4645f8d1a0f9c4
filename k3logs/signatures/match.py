"""Which signature a text carries.

One Aho-Corasick pass over all unique texts picks candidates by literal; only their patterns are then run, in the
order in which signatures claim, so the first fit is the answer. polars is imported only for many texts, and a
pattern is compiled when its literal was first seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from k3logs.signatures.signature import field_of

if TYPE_CHECKING:
    import polars

    from k3logs.signatures.catalog import Catalog

#: Signature id (None: no signature) and what its named groups read.
Hit = tuple[str | None, dict[str, str]]

LONGEST_TEXT = 65_536  # characters searched; a longer record is a dump, and its beginning says so
_FEW = 48  # unique texts below which importing polars costs more than it saves
_LONG = 4_000  # characters beyond which looking for each literal costs less than looking at each place
_LEVELS = {
    "WARNING": "WARN", "W": "WARN", "ERR": "ERROR", "E": "ERROR", "CRITICAL": "FATAL", "CRIT": "FATAL", "C": "FATAL", "F": "FATAL",
    "EMERG": "FATAL", "ALERT": "FATAL", "I": "INFO", "NOTICE": "INFO", "D": "DEBUG",
}  # fmt: skip


def match(
    catalog: Catalog,
    texts: polars.Series | Sequence[str],
    dialects: Sequence[str | None] | None = None,
    levels: Sequence[str | None] | None = None,
) -> list[Hit]:
    """One hit per text, in their order.

    Args:
        texts: messages of records as peeled by the envelopes; for exceptions "Type: message" and its continuation lines.
        dialects: name of the dialect that claimed each text, if known; a signature that names dialects then fits only those.
        levels: severity of each text, if known.
    """
    rows = list(texts)
    keys = list(zip(rows, dialects or [None] * len(rows), levels or [None] * len(rows), strict=True))
    unique = list(dict.fromkeys(rows))
    candidates = dict(zip(unique, _candidates(catalog, unique), strict=True))
    known: dict[tuple[str, str | None, str | None], Hit] = {}
    for key in keys:
        if key not in known:
            text, dialect, level = key
            known[key] = _first(catalog, candidates[text], text, dialect or "", level or "")
    return [known[key] for key in keys]


def claim(catalog: Catalog, text: str, dialect: str = "", level: str = "") -> Hit:
    """The hit of one text; the brute-force reference for :func:`match` and the check of samples."""
    return _first(catalog, _by_literal(catalog, text), text, dialect, level)


def _candidates(catalog: Catalog, texts: list[str]) -> Iterable[Iterable[int]]:
    if len(texts) <= _FEW:
        return [_by_literal(catalog, text) for text in texts]
    import polars as pl

    found = pl.Series(texts, dtype=pl.String).str.extract_many(list(catalog.literals), overlapping=True).to_list()
    return [sorted({place for literal in hits or () for place in catalog.literals[literal]}) for hits in found]


def _by_literal(catalog: Catalog, text: str) -> list[int]:
    if len(text) > _LONG:
        return sorted({place for literal, places in catalog.literals.items() if literal in text for place in places})
    width, by_beginning = catalog.beginnings
    found: set[int] = set()
    for at in range(len(text) - width + 1):
        for literal, places in by_beginning.get(text[at : at + width], ()):
            if text.startswith(literal, at):
                found.update(places)
    return sorted(found)


def _first(catalog: Catalog, places: Iterable[int], text: str, dialect: str, level: str) -> Hit:
    level = _LEVELS.get(level.upper(), level.upper())
    for place in places:
        signature = catalog.ordered[place]
        if signature.dialects and dialect and dialect not in signature.dialects:
            continue
        if signature.levels and level and level not in signature.levels:
            continue
        if found := _compiled(signature.pattern).search(text[:LONGEST_TEXT]):
            return signature.id, {field_of(name): value for name, value in found.groupdict().items() if value is not None}
    return None, {}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
