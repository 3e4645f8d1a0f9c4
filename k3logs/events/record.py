"""What records are made of: kept lines, the exceptions of a chain, and the event that they add up to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Line:
    """One kept line after peeling: ``form`` is the text form of its message (``python.tail`` ...), if any."""

    number: int
    part: int
    header: int
    time: int
    envelope_time: int
    grain: int
    message: str
    raw: str
    site: str
    form: str
    fields: dict[str, str]


@dataclass(slots=True)
class Link:
    """One exception of a chain."""

    type: str
    message: str
    line: Line
    frames: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """``Type: message`` with the message's further lines."""
        return f"{self.type}: {self.message}" if self.message else self.type


@dataclass(slots=True)
class Event:
    """A record or an exception.

    Attributes:
        first: the line it begins with; ``anchor`` is the one to show: the exception's own text, else ``first``.
        text: the record's message, further lines joined by newlines.
        chain: the exceptions printed in it, the earliest cause first.
        open_frames: frames of a traceback that ends before its exception: the log is cut there.
        opening: what introduced the exception (``Process EngineCore:``), if a line did.
    """

    source: int
    first: Line
    text: str
    chain: list[Link] = field(default_factory=list)
    opening: Line | None = None
    last: int = 0
    thread: str = ""
    order: int = 0
    open_frames: list[str] = field(default_factory=list)

    @property
    def anchor(self) -> Line:
        """The line to show."""
        return self.chain[0].line if self.chain else self.first

    @property
    def frames(self) -> list[str]:
        """Frames of all exceptions of the chain, outermost first."""
        return [f for link in self.chain for f in link.frames]
