"""What every sink of an event table does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    import polars as pl


class Sink(Protocol):
    """Writes frames of one schema to a byte stream.

    Attributes:
        extension: of files in this format, without the dot.
        binary: not for a terminal.
    """

    extension: str
    binary: bool

    def write(self, frames: Iterable[pl.DataFrame], out: BinaryIO) -> int:
        """Write all frames, in order; the first one gives the schema.

        Returns:
            rows written.
        """
        ...
