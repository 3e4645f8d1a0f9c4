"""Is a line pattern deterministic, and which bytes can a line of it begin with?

Both answers come from the Glushkov automaton of the pattern: one position per
character class, and for each position the set of positions that may follow.
A pattern is deterministic when no two positions that may come next share a
character; then Lark's longest-match lexer, Python's ``re`` and Rust's ``regex``
read every line the same way, and Rust is fastest.
"""

from __future__ import annotations

import re._constants as op  # type: ignore[import-not-found]  # CPython's own parse tree of a pattern; no public twin
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

OTHER = 256
"""The bucket of every character beyond Latin-1."""

_ALL = frozenset(range(OTHER + 1))
_CATEGORY = {
    op.CATEGORY_DIGIT: frozenset(range(48, 58)),
    op.CATEGORY_WORD: frozenset(c for c in range(128) if chr(c).isalnum()) | {95},
    op.CATEGORY_SPACE: frozenset(map(ord, " \t\n\r\f\v")),
}
_CATEGORY |= {
    op.CATEGORY_NOT_DIGIT: _ALL - _CATEGORY[op.CATEGORY_DIGIT],
    op.CATEGORY_NOT_WORD: _ALL - _CATEGORY[op.CATEGORY_WORD],
    op.CATEGORY_NOT_SPACE: _ALL - _CATEGORY[op.CATEGORY_SPACE],
}
_UNROLL = 40


def _characters(kind: Any, value: Any) -> frozenset[int]:
    if kind is op.LITERAL:
        return frozenset({min(value, OTHER)})
    if kind is op.NOT_LITERAL:
        return _ALL - {value}
    if kind is op.ANY:
        return _ALL - {10}
    if kind is op.CATEGORY:
        return _CATEGORY[value]
    if kind is op.RANGE:
        return frozenset(min(c, OTHER) for c in range(value[0], min(value[1], OTHER) + 1))
    if kind is op.IN:
        negated = value[0][0] is op.NEGATE
        inside: frozenset[int] = frozenset()
        for item in value[negated:]:
            inside |= _characters(*item)
        return _ALL - inside if negated else inside
    raise ValueError(f"{kind} is outside the regular subset")


class Positions:
    """Positions of a pattern with their character sets and followers."""

    def __init__(self, pattern: str) -> None:
        self.characters: list[frozenset[int]] = []
        self.group: list[str] = []
        self.follow: list[set[int]] = []
        self.anchors = 0
        tree = parser.parse(pattern)
        self._names = {number: name for name, number in tree.state.groupdict.items()}
        self.nullable, self.first, self.last = self._sequence(tree, "")

    def _sequence(self, items: Iterable[Any], group: str) -> tuple[bool, set[int], set[int]]:
        nullable, first, last = True, set[int](), set[int]()
        for kind, value in items:
            n, f, t = self._node(kind, value, group)
            for position in last:
                self.follow[position] |= f
            first = first | f if nullable else first
            last = last | t if n else t
            nullable = nullable and n
        return nullable, first, last

    def _node(self, kind: Any, value: Any, group: str) -> tuple[bool, set[int], set[int]]:
        if kind is op.AT:
            self.anchors += 1
            return True, set(), set()
        if kind is op.SUBPATTERN:
            if value[1] or value[2]:
                raise ValueError("FLAGS")
            return self._sequence(value[3], self._names.get(value[0], group))
        if kind is op.BRANCH:
            nullable, first, last = False, set[int](), set[int]()
            for branch in value[1]:
                n, f, t = self._sequence(branch, group)
                nullable, first, last = nullable or n, first | f, last | t
            return nullable, first, last
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            low, high, item = value
            return self._repeat(low, high, item, group)
        self.characters.append(_characters(kind, value))
        self.follow.append(set())
        self.group.append(group)
        return False, {len(self.follow) - 1}, {len(self.follow) - 1}

    def _repeat(self, low: int, high: int, item: Any, group: str) -> tuple[bool, set[int], set[int]]:
        if high <= _UNROLL:
            # x{1,3} is x(x(x)?)?: what may be missing is the rest, never one in the middle
            first, last, before = set[int](), set[int](), set[int]()
            missing = True
            for count in range(high):
                n, f, t = self._sequence(item, group)
                for position in before:
                    self.follow[position] |= f
                first = first | f if missing else first
                missing = missing and n
                before = before | t if n else t
                last = last | before if count + 1 >= low else last
            return low == 0 or missing, first, last
        nullable, first, last = self._sequence(item, group)
        for position in last:
            self.follow[position] |= first
        return nullable or low == 0, first, last


def objection(pattern: str) -> str:
    """Why a terminal's pattern is outside the regular subset that all engines read alike, in words; empty where it is inside."""
    try:
        if Positions(f"(?:{pattern})").anchors:
            return "an anchor or word boundary is outside the regular subset"
    except parser.error as error:
        return f"does not compile: {error}"
    except (ValueError, KeyError) as error:
        word = str(error).split()[0].strip("'\"")
        return f"{_WORDS.get(word, word.lower().replace('_', ' '))} is outside the regular subset"
    return ""


_WORDS = {
    "ASSERT": "a look-ahead or look-behind", "ASSERT_NOT": "a look-ahead or look-behind", "GROUPREF": "a back-reference", "GROUPREF_EXISTS": "a condition",
    "FLAGS": "a flag such as (?i:...)", "ATOMIC_GROUP": "an atomic group", "POSSESSIVE_REPEAT": "a possessive repeat",
}  # fmt: skip


def conflicts(pattern: str) -> Iterator[str]:
    """Places where two ways on share a character, in words; none when the pattern is deterministic."""
    g = Positions(pattern)
    places = [("the start", g.first)] + [(g.group[i] or "a literal", g.follow[i]) for i in range(len(g.follow))]
    seen = set()
    for where, following in places:
        for a, b in combinations(sorted(following), 2):
            both = g.characters[a] & g.characters[b]
            if both:
                text = f"after {where}: {g.group[a] or 'a literal'} and {g.group[b] or 'a literal'} both accept {chr(min(both))!r}"
                if text not in seen:
                    seen.add(text)
                    yield text


def opening_bytes(pattern: str, count: int) -> tuple[int, ...]:
    """For each of the first ``count`` bytes of a line, the bytes that a line of this pattern may have there.

    Returns:
        ``count`` bit sets, bit ``b`` set where byte ``b`` is possible. Characters beyond ASCII
        are given as "any byte from 0x80 up".
    """
    g = Positions(pattern)
    everything = (1 << 256) - 1
    high = everything ^ ((1 << 128) - 1)
    sets, now, ended = [], g.first, g.nullable
    for _ in range(count):
        if ended or not now:
            sets.append(everything)
            continue
        allowed = 0
        for position in now:
            for character in g.characters[position]:
                allowed |= high if character >= 128 else 1 << character
        # a character beyond ASCII takes several bytes, so positions and bytes no longer run together
        ended = bool(now & g.last) or bool(allowed & high)
        sets.append(allowed)
        now = set().union(*(g.follow[position] for position in now))
    return tuple(sets)
