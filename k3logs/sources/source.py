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
    """

    name: str
    open: Callable[[], BinaryIO]
    hints: dict[str, str] = field(default_factory=dict)
    modified: int | None = None
