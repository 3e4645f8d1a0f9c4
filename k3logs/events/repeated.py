"""Columns of one value: made once, and lent out as long as they are wanted."""

from __future__ import annotations

import polars as pl


class Repeated:
    """A column that has ``value``, a series of one element, in every row."""

    def __init__(self, value: pl.Series) -> None:
        self._value = value
        self._longest = value

    def of(self, count: int) -> pl.Series:
        """The column with ``count`` rows; its memory is shared by all that were given out."""
        if len(self._longest) < count:
            self._longest = self._value.new_from_index(0, count)
        return self._longest.slice(0, count)
