"""The same failure gives the same value, whatever host, rank, time or number it was printed with."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from k3logs.incidents.failure import Failure


@lru_cache(maxsize=1 << 16)
def masked(text: str) -> str:
    """A text with its numbers, addresses and paths taken out; words that hold a digit count as numbers."""
    words = []
    for word in text.replace("=", " = ").replace(":", " : ").replace("/", " / ").replace("'", " ").replace(",", " , ").replace("(", " ( ").split():
        if any(c.isdigit() for c in word):
            word = "#"
        words.append(word)
    return " ".join(words)


def fingerprint(failure: Failure) -> str:
    """Stable over hosts, ranks, times and numbers; 16 hex digits."""
    text = failure.text.split("\n", 1)[0][:400]
    kind = failure.id or (failure.event.chain[failure.link].type.rpartition(".")[2] if failure.event.chain else "")
    return hashlib.sha1(f"{kind}|{masked(text)}".encode(), usedforsecurity=False).hexdigest()[:16]
