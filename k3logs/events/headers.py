"""Header keys: each different header of a log is parsed once, by Lark, and known by a number from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.events.keys import Numbers, mixed

MAX_KEYS = 20_000
"""Different keys of one form that are parsed; further ones are known by their form alone, and coverage says so."""

Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


@dataclass(slots=True)
class Header:
    """What stands before a message: the fields of all its layers, inner ones first in rank, and their forms.

    Attributes:
        stamp, wrapped: terminals of the innermost stamp, and of the innermost wrapper's.
    """

    fields: dict[str, str] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    dialect: str | None = None
    stamp: tuple[str, ...] = ()
    wrapped: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        """How loud the line is, as printed; empty where it says nothing of that."""
        return self.fields.get("level", "")


class Headers:
    """Numbers for headers; 0 is the empty one. A layer below a layer gets a number of its own."""

    def __init__(self) -> None:
        self.known: list[Header] = [Header()]
        self._layer: dict[tuple[int, int], int] = {}
        self._single: dict[tuple[str, str], int] = {}
        self._pairs = Numbers()
        self.overflowed: set[str] = set()

    def __len__(self) -> int:
        return len(self.known)

    def add(self, header: Header) -> int:
        """A number for a header of one layer."""
        self.known.append(header)
        return len(self.known) - 1

    def single(self, form: str, key: str, make: Callable[[], Header]) -> int:
        """The number of a header of one layer that has a key of its own, made when it is new."""
        number = self._single.get((form, key))
        if number is None:
            number = self._single[form, key] = self.add(make())
        return number

    def below(self, outer: Codes, inner: Codes) -> Codes:
        """Numbers of ``inner`` headers that stand behind ``outer`` ones, element by element."""
        if not outer.any():
            return inner
        pairs = (outer.astype(np.uint64) << np.uint64(32)) | inner.astype(np.uint64)
        keys = mixed(pairs)
        numbers = self._pairs.find(keys)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            fresh = np.unique(pairs[unknown])
            self._pairs.add(mixed(fresh), [self._below(pair >> 32, pair & 0xFFFFFFFF) for pair in fresh.tolist()])
            numbers[unknown] = self._pairs.find(keys[unknown])
        return numbers

    def _below(self, outer: int, inner: int) -> int:
        if not outer or not inner:
            return outer or inner
        number = self._layer.get((outer, inner))
        if number is None:
            a, b = self.known[outer], self.known[inner]
            number = self._layer[outer, inner] = len(self.known)
            self.known.append(Header({**a.fields, **b.fields}, a.forms + b.forms, b.dialect or a.dialect, b.stamp or a.stamp, b.wrapped or a.wrapped))
        return number


class KeyColumn:
    """Numbers the texts of one column, the same text always alike, over all chunks.

    polars' categorical codes do the work; they restart when no column of their ``Categories`` is alive, so one is
    kept alive here.
    """

    _serial = 0

    def __init__(self) -> None:
        KeyColumn._serial += 1
        self._type = pl.Categorical(pl.Categories(f"k3logs{KeyColumn._serial}"))
        self._anchor = pl.Series([""]).cast(self._type)
        self.table: npt.NDArray[np.int32] = np.full(16, -1, np.int32)

    def number(self, keys: pl.Series, learn: Callable[[pl.Series, Places], Sequence[int] | Codes]) -> Codes:
        """Numbers of ``keys``; ``learn`` is called once for all texts seen for the first time.

        Args:
            learn: gets those texts and the places in ``keys`` where each stands first; returns their numbers.
        """
        column = keys.cast(self._type)
        codes = column.to_physical().to_numpy()
        if not len(codes):
            return np.zeros(0, np.int32)
        top = int(codes.max())
        if top >= len(self.table):
            grown = np.full(max(top + 1, 2 * len(self.table)), -1, np.int32)
            grown[: len(self.table)] = self.table
            self.table = grown
        numbers: Codes = self.table[codes]
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            fresh, places = np.unique(codes[unknown], return_index=True)
            where = unknown[places]
            self.table[fresh] = learn(keys[where], where)
            numbers = self.table[codes]
        return numbers
