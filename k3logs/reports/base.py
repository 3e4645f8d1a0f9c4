"""What every report is: a name, a file extension, and a function from verdict to text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from k3logs.model import Verdict


class Look(NamedTuple):
    """How a report may look where it is read: colour or not, and how many columns."""

    color: bool = False
    width: int = 100


class Renderer(Protocol):
    """One output format.

    Attributes:
        extension: of files in this format, without the dot.
    """

    extension: str

    def render(self, verdict: Verdict, look: Look = Look()) -> str:  # noqa: B008 - a Look cannot change
        """The whole report, ending in a newline; secrets masked, control characters made visible."""
        ...
