"""Lines that a container runtime cut into pieces, put together again.

Docker's json-file cuts after 16384 bytes (``daemon/logger/copier.go``), CRI runtimes where they like
(``P`` and ``F`` in ``k8s.io/cri-client/pkg/logs``). Pieces belong together per stream of one container.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_BYTES = 64 << 20
"""A joined line is closed at this length, and coverage says so."""


@dataclass(slots=True)
class Open:
    """A line that still waits for its closing piece; ``row`` is -1 once its first piece is in an earlier chunk."""

    row: int
    pieces: list[str] = field(default_factory=list)
    size: int = 0


class Joiner:
    """Joins pieces over chunks; one open line per stream."""

    def __init__(self) -> None:
        self._open: dict[str, Open] = {}
        self.joined = 0

    def waits(self, stream: str) -> bool:
        return stream in self._open

    def add(self, stream: str, row: int, text: str, closes: bool) -> tuple[int, str, bool] | None:
        """Take one piece.

        Returns:
            ``(row, text, whole)`` of a finished line: the row of its first piece and all its text; None while it is open.
        """
        line = self._open.pop(stream, None) or Open(row)
        line.pieces.append(text)
        line.size += len(text)
        if not closes and line.size < MAX_BYTES:
            self._open[stream] = line
            return None
        if len(line.pieces) > 1:
            self.joined += 1
        return (line.row if line.row >= 0 else row), "".join(line.pieces), closes

    def carry(self) -> list[tuple[int, str]]:
        """At the end of a chunk: rows and texts so far of lines still open. They go on in the next chunk."""
        rest = []
        for line in self._open.values():
            if line.row >= 0:
                rest.append((line.row, "".join(line.pieces)))
            line.row = -1
        return rest
