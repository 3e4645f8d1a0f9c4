"""Lines that a container runtime cut into pieces, put together again.

Docker's json-file cuts after 16384 bytes (``daemon/logger/copier.go``), CRI runtimes where they like
(``P`` and ``F`` in ``k8s.io/cri-client/pkg/logs``). Pieces belong together per stream of one container. The whole line has the
line number, header and stamps of its first piece and takes the place of its last one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_BYTES = 64 << 20
"""A joined line is closed at this length, and coverage says so."""


@dataclass(slots=True)
class First:
    """What is known of a first piece: its line in the source (from 0) and part, header number, raw text, stamp (ns)."""

    line: int
    part: int
    header: int
    raw: str
    envelope_time: int


@dataclass(slots=True)
class Whole:
    """A line put together; ``closed`` is False where its end was never seen."""

    first: First
    text: str
    closed: bool = True


@dataclass(slots=True)
class _Open:
    first: First
    pieces: list[str] = field(default_factory=list)
    size: int = 0


class Joiner:
    """Joins pieces over chunks; one open line per stream."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}

    @property
    def waiting(self) -> list[int]:
        """Streams with a line that waits for its end."""
        return list(self._open)

    def add(self, stream: int, first: First, text: str, closes: bool) -> Whole | None:
        """Take one piece, described by ``first`` should it be a first one.

        Returns:
            the whole line, or None while it is open.
        """
        line = self._open.pop(stream, None) or _Open(first)
        line.pieces.append(text)
        line.size += len(text)
        if not closes and line.size < MAX_BYTES:
            self._open[stream] = line
            return None
        return Whole(line.first, "".join(line.pieces), closes)

    def rest(self) -> list[Whole]:
        """At the end of the source: lines that are still open."""
        rest = [Whole(line.first, "".join(line.pieces), False) for line in self._open.values()]
        self._open.clear()
        return rest
