"""One log to read: a file, one member of an archive, or standard input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO


@dataclass(slots=True)
class Source:
    """A log and what its name says about it.

    Attributes:
        name: how the log is called in reports: the path as given, or ``-``.
        open: opens it for reading, decompressed.
        hints: fields that its path tells, the least trusted evidence: node, rank, local_rank, attempt, pod,
            container, namespace, restart.
        modified: time of last change, ns since 1970, or None.
        once: it can be read only once: a pipe.
        remarks: what else has to be known of how it was read.
        lost: why all of it, or what is behind some place, could not be read; filled while it is read.
    """

    name: str
    open: Callable[[], BinaryIO]
    hints: dict[str, str] = field(default_factory=dict)
    modified: int | None = None
    once: bool = False
    remarks: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def notices(self) -> list[str]:
        """How it was read, and what could not be read of it, in sentences."""
        return [f"{self.name}: {text}" for text in (*self.remarks, *self.lost)]

    def remark(self, text: str) -> None:
        """Note once how it is read."""
        if text not in self.remarks:
            self.remarks.append(text)

    def lose(self, why: str) -> None:
        """Note once that something of it cannot be read."""
        if why not in self.lost:
            self.lost.append(why)
