"""All header patterns of a folder of grammars as one deterministic automaton over bytes.

A line grammar has one way on at every character (see :mod:`k3logs.grammar.determinism`), so all forms of a folder can be
followed at once: a state is, for each form that is still possible, the place it has reached. The result is one table of next
states, small enough for a cache, that reads the headers of a whole column of lines a byte at a time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from k3logs.grammar.determinism import Positions

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from k3logs.grammar.line import Form

END = 10
"""Byte that stands for the end of a line; no pattern holds it."""

DEAD, START = 0, 1
NONE = 255
"""No form."""

MAX_STATES = 30_000

_HIGH = frozenset(range(128, 257))


@dataclass(slots=True)
class Automaton:
    """The table.

    Attributes:
        step: ``step[state, classes[byte]]`` is the next state; :data:`DEAD` where no form goes on.
        accept: the first form whose header ends in this state, else :data:`NONE`.
        sure: states from which nothing earlier on any way here needs to be looked at: the form accepted here, or none, is the answer.
        groups: form -> for each state the group (1 .. n, in the order of :attr:`names`) that its place belongs to, 0 for none.
        names: form -> group names, only for forms that have a segment which changes from line to line.
    """

    classes: npt.NDArray[np.uint8]
    step: npt.NDArray[np.uint16]
    accept: npt.NDArray[np.uint8]
    sure: npt.NDArray[np.bool_]
    groups: dict[int, npt.NDArray[np.uint8]] = field(default_factory=dict)
    names: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def digits_alike(self) -> bool:
        """Whether no header depends on which digit a digit is."""
        return len(set(self.classes[48:58].tolist())) == 1


@dataclass(slots=True)
class _Places:
    """The places of all forms, numbered through."""

    characters: list[frozenset[int]] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)
    form: list[int] = field(default_factory=list)
    group: list[str] = field(default_factory=list)
    final: set[int] = field(default_factory=set)
    first: set[int] = field(default_factory=set)

    def add(self, characters: frozenset[int], form: int, group: str) -> int:
        self.characters.append(characters)
        self.follow.append(set())
        self.form.append(form)
        self.group.append(group)
        return len(self.follow) - 1


def compile_forms(forms: Sequence[Form]) -> Automaton:
    """Build the automaton of forms in the order in which they are tried.

    Raises:
        ValueError: a header holds a character beyond ASCII, or there are too many forms; says which.
    """
    if len(forms) >= NONE:
        raise ValueError(f"more than {NONE - 1} forms in one folder")
    places = _Places()
    for number, form in enumerate(forms):
        _add(places, form, number)
    classes, charsets = _classes(places.characters)
    order: list[tuple[int, ...]] = [(), (-1,)]
    known: dict[tuple[int, ...], int] = {(): DEAD}
    table: list[list[int]] = []
    while len(table) < len(order):
        state = order[len(table)]
        ways: dict[int, list[int]] = {}
        following = places.first if state == (-1,) else set().union(*(places.follow[p] for p in state))
        for place in sorted(following):
            for letter in charsets[place]:
                ways.setdefault(letter, []).append(place)
        row = [DEAD] * (max(classes) + 1)
        for letter, reached in ways.items():
            key = tuple(reached)
            if key not in known:
                known[key] = len(order)
                order.append(key)
            row[letter] = known[key]
        table.append(row)
        if len(order) > MAX_STATES:
            raise ValueError("the forms have too many ways to begin alike")
    return _pack(forms, places, classes, order, table)


def _add(places: _Places, form: Form, number: int) -> None:
    """The places of one form, with what may follow its header: the separator, or the end of the line."""
    header, tail, ends = form.header, "", form.header.endswith("$")
    if form.separator:
        cut = header.rindex("(?:")
        header, tail, ends = header[:cut], re.sub(r"\\(.)", r"\1", header[cut + 3 : -3]), True
    pattern = Positions(header)
    base = len(places.follow)
    beyond: dict[int, int] = {}
    for characters, group in zip(pattern.characters, pattern.group, strict=True):
        if characters & _HIGH and not characters >= _HIGH:
            raise ValueError(f"form {form.id}: a character beyond ASCII stands before the message")
        letters = frozenset(c for c in characters if c < 128 and c != END)
        places.add(letters | frozenset(range(192, 256)) if characters & _HIGH else letters, number, group)
    for place, follow in enumerate(pattern.follow):
        places.follow[base + place] |= {base + p for p in follow}
        if pattern.characters[place] & _HIGH:  # the further bytes of one character
            more = beyond[base + place] = places.add(frozenset(range(128, 192)), number, pattern.group[place])
            places.follow[more] |= places.follow[base + place] | {more}
            places.follow[base + place].add(more)
    places.first |= {base + p for p in pattern.first}
    last = {base + p for p in pattern.last} | {beyond[base + p] for p in pattern.last if base + p in beyond}
    if not ends:
        places.final |= last
        return
    at_end = places.add(frozenset({END}), number, "")
    places.final.add(at_end)
    for place in last:
        places.follow[place].add(at_end)
    before = last
    for letter in tail.encode():
        place = places.add(frozenset({letter}), number, "")
        for one in before:
            places.follow[one].add(place)
        before = {place}
    if tail:
        places.final |= before


def _classes(characters: Sequence[frozenset[int]]) -> tuple[list[int], list[frozenset[int]]]:
    """Bytes that no place tells apart share a class: the class of each byte, and each place's characters as classes."""
    having: list[list[int]] = [[] for _ in range(256)]
    for place, letters in enumerate(characters):
        for letter in letters:
            having[letter].append(place)
    numbers: dict[tuple[int, ...], int] = {}
    classes = [numbers.setdefault(tuple(places), len(numbers)) for places in having]
    return classes, [frozenset(classes[c] for c in letters) for letters in characters]


def _pack(forms: Sequence[Form], places: _Places, classes: list[int], order: list[tuple[int, ...]], table: list[list[int]]) -> Automaton:
    import numpy as np

    accept = [min((places.form[p] for p in state if p in places.final), default=NONE) for state in order]
    before = _accepted_before(order, table, accept)
    sure = [not before[n] if accept[n] == NONE else all(f >= accept[n] for f in before[n]) for n in range(len(order))]
    made = Automaton(np.array(classes, np.uint8), np.array(table, np.uint16), np.array(accept, np.uint8), np.array(sure, np.bool_))
    for number, form in enumerate(forms):
        if all(s.kind == "key" for s in form.segments):
            continue
        made.names[number] = tuple(s.group for s in form.segments if s.group)
        index = {name: n for n, name in enumerate(made.names[number], 1)}
        row = np.zeros(len(order), np.uint8)
        for n, state in enumerate(order[2:], 2):
            own = [p for p in state if places.form[p] == number]
            if len({places.group[p] for p in own}) > 1:
                raise ValueError(f"form {form.id} can be read in two ways")
            if own:
                row[n] = index.get(places.group[own[0]], 0)
        made.groups[number] = row
    return made


def _accepted_before(order: list[tuple[int, ...]], table: list[list[int]], accept: list[int]) -> list[set[int]]:
    """For each state the forms that may have been accepted on a way to it."""
    before: list[set[int]] = [set() for _ in order]
    todo = [START]
    seen = {START}
    while todo:
        state = todo.pop()
        given = before[state] | ({accept[state]} - {NONE})
        for target in set(table[state]) - {DEAD}:
            if target not in seen or not given <= before[target]:
                before[target] |= given
                seen.add(target)
                todo.append(target)
    return before
