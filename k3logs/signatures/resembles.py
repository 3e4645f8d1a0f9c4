"""The nearest known failure for an error text that no signature claims.

Never a match: texts are compared with numbers, addresses and paths masked, and the answer only says what to read about.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from k3logs.signatures.catalog import Catalog

CUTOFF = 85.0  # below this, resemblance is chance: measured on texts of different families
LONGEST_TEXT = 400  # characters compared; a message says what it is at its beginning


@cache
def _masks() -> tuple[tuple[re.Pattern[str], str], ...]:
    return (
        (re.compile(r"^.*?(?:\.(?:py|cpp|cc|c|h|rs):[0-9]+\]? |NCCL (?:WARN|INFO) )"), ""),  # what stands before the message
        (re.compile(r"^(?:\[[^]]*\]:? ?)+"), ""),
        (re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{12,}"), "#"),
        (re.compile(r"(?:/[A-Za-z0-9_.+@-]+){2,}/?"), "/~"),
        (re.compile(r"-?[0-9]+(?:[.,:][0-9]+)*"), "#"),
    )


def mask(text: str) -> str:
    """``text`` without its header and what differs from one occurrence to the next: hexadecimal, paths, numbers."""
    text = " ".join(text[:LONGEST_TEXT].split())
    for pattern, put in _masks():
        text = pattern.sub(put, text)
    return text


@lru_cache(maxsize=2)
def _samples(catalog: Catalog) -> tuple[list[str], list[str]]:
    """Ids and masked samples of all failures, side by side; benign texts are nothing to be like."""
    pairs = [(s.id, mask(sample.text)) for s in catalog.signatures if s.role != "benign" for sample in s.samples]
    return [id for id, _ in pairs], [text for _, text in pairs]


def resembles(catalog: Catalog, text: str, cutoff: float = CUTOFF) -> str | None:
    """"resembles ID (score)" of the sample nearest to ``text``, or None where none reaches ``cutoff`` (0 to 100)."""
    from rapidfuzz import fuzz, process

    owners, choices = _samples(catalog)
    best = process.extractOne(mask(text), choices, scorer=fuzz.ratio, score_cutoff=cutoff)
    return None if best is None else f"resembles {owners[best[2]]} ({best[1]:.0f})"
