"""Run the automaton of a folder of grammars over many lines at once: which header each has, and how long its parts are.

All lines go on byte by byte in step, some tens of thousands of them in one look-up; lines that no form can go on with are
left behind. Nothing here knows a grammar.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from k3logs.events.lines import Ints, Lines, windows
from k3logs.grammar.automaton import DEAD, END, NONE, START, Automaton

Places = npt.NDArray[np.int64]

MAX_HEADER = 1024
"""Bytes; what is longer is no header."""

_WIDTHS = (8, 8, 16, 16, 32)
"""Bytes read before lines that ended are left out; the last width repeats. At most half of ``lines.PAD``."""

_SHIFT = 8
"""States are kept times 256, so that a state and a byte add up to a place in the table."""


@dataclass(slots=True)
class _Block:
    """States of the lines still alive, one row per byte and ``states[0]`` before the first; ``column`` of each line, -1 if it is not here."""

    states: npt.NDArray[np.int32]
    column: Ints | None


@dataclass(slots=True)
class Scan:
    """What was found.

    Attributes:
        form: number of each line's form, :data:`NONE` where none fits.
        used: bytes of header and separator; one more than the line has where the header ends with the line.
        seen: bytes that were looked at to tell.
    """

    form: npt.NDArray[np.uint8]
    used: Ints
    seen: Ints
    _automaton: Automaton
    _blocks: list[_Block] = field(default_factory=list)
    _went_on: npt.NDArray[np.bool_] | None = None

    def lengths(self, form: int, which: Places) -> list[Ints]:
        """Bytes of each group of ``form`` but the last, in its lines ``which``."""
        count = len(self._automaton.names[form]) - 1
        if not count:
            return []
        # a counter of 16 bits for each group, and all of them added up at once
        counters = np.zeros(256, np.uint64)
        counters[1 : count + 1] = [1 << 16 * n for n in range(count)]
        table = counters[self._automaton.groups[form]]
        total = np.zeros(len(which), np.uint64)
        beyond = self._went_on is not None and self._went_on[which].any()
        offset = 0
        for block in self._blocks:
            columns = which if block.column is None else block.column[which]
            here: slice | Places = slice(None)
            if block.column is not None:
                here = np.flatnonzero(columns >= 0)
                columns = columns[here]
            if not len(columns):
                break
            states = block.states[1:].take(columns, axis=1)
            states >>= _SHIFT
            steps = table[states]
            if beyond:
                steps[np.arange(offset, offset + len(steps))[:, None] >= self.used[which[here]]] = 0
            total[here] += steps.sum(axis=0, dtype=np.uint64)
            offset += len(steps)
        return [(total >> np.uint64(16 * n)).astype(np.int32) & 0xFFFF for n in range(count)]


class Scanner:
    """One automaton, ready to run."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._next = (automaton.step[:, automaton.classes].astype(np.int32) << _SHIFT).ravel()

    def scan(self, lines: Lines, among: Places) -> Scan:
        """Find the header of each of the lines ``among``."""
        start = lines.start[among].astype(np.int64)
        size = lines.end[among] - lines.start[among]
        count = len(among)
        scan = Scan(np.full(count, NONE, np.uint8), np.zeros(count, np.int32), np.full(count, MAX_HEADER, np.int32), self._automaton)
        unsure: list[Places] = []
        live: Places | None = None
        state = np.full(count, START << _SHIFT, np.int32)
        offset, turn = 0, 0
        while len(state) and offset < MAX_HEADER:
            width = _WIDTHS[min(turn, len(_WIDTHS) - 1)]
            states = self._steps(lines.buffer, start + offset, size - offset, state, width)
            column = None
            if live is not None:
                column = np.full(count, -1, np.int32)
                column[live] = np.arange(len(live), dtype=np.int32)
            scan._blocks.append(_Block(states, column))
            state = states[-1]
            gone = state == DEAD
            self._end(scan, states, gone.nonzero()[0], live, offset, unsure)
            alive = (~gone).nonzero()[0]
            live = alive if live is None else live[alive]
            start, size, state = start[alive], size[alive], state[alive]
            offset, turn = offset + width, turn + 1
        if len(state) and live is not None:
            unsure.append(live)
        if unsure:
            self._settle(scan, np.concatenate(unsure))
        return scan

    def _steps(self, buffer: npt.NDArray[np.uint8], start: Places, rest: Ints, state: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.int32]:
        """States before and after each of ``width`` bytes; behind a line's last byte its end is read."""
        letters = windows(buffer, start, width).T.copy()
        short = (rest < width).nonzero()[0]
        if len(short):
            there = np.arange(width, dtype=np.int32)[:, None] < rest[short]
            letters[:, short] = np.where(there, letters[:, short], END)
        states = np.empty((width + 1, len(state)), np.int32)
        states[0] = state
        place = np.empty(len(state), np.int64)
        add, take = np.add, self._next.take
        for before, letter, after in zip(states, letters, states[1:], strict=False):
            add(before, letter, place, dtype=np.int64, casting="unsafe")
            take(place, None, after, "wrap")  # never out of range: "wrap" is the mode without a check
        return states

    def _end(self, scan: Scan, states: npt.NDArray[np.int32], ended: Places, live: Places | None, offset: int, unsure: list[Places]) -> None:
        """Note what lines that ended in this block were."""
        lasted = np.add.reduce(states[1:] != DEAD, axis=0, dtype=np.uint8)[ended]
        last = states[lasted, ended] >> _SHIFT
        sure = self._automaton.sure[last]
        lines = ended if live is None else live[ended]
        scan.seen[lines] = lasted.astype(np.int32) + (offset + 1)
        if not sure.all():
            unsure.append(lines[~sure])
            lines, lasted, last = lines[sure], lasted[sure], last[sure]
        scan.form[lines] = self._automaton.accept[last]
        scan.used[lines] = lasted.astype(np.int32) + offset

    def _settle(self, scan: Scan, lines: Places) -> None:
        """Lines on whose way several forms were met: the first form wins, with the last place where it was."""
        best = np.full(len(lines), NONE, np.uint8)
        used = np.zeros(len(lines), np.int32)
        offset = 0
        for block in scan._blocks:
            columns = lines if block.column is None else block.column[lines]
            here = np.flatnonzero(columns >= 0)
            accepted = self._automaton.accept[block.states[1:, columns[here]] >> _SHIFT]
            for n, forms in enumerate(accepted, 1):
                better = (forms <= best[here]) & (forms != NONE)
                best[here[better]] = forms[better]
                used[here[better]] = offset + n
            offset += len(accepted)
        scan.form[lines], scan.used[lines] = best, used
        went_on = scan._went_on
        if went_on is None:
            went_on = scan._went_on = np.zeros(len(scan.form), np.bool_)
        went_on[lines] = True
