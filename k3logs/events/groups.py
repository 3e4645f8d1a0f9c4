"""Exception groups (PEP 654) and notes (PEP 678): margins, the order of cause and consequence, repetitions.

``Lib/traceback.py`` prints a group before the exceptions in it, each level two columns further in::

      + Exception Group Traceback (most recent call last):
      | ExceptionGroup: two tasks failed (2 sub-exceptions)
      +-+---------------- 1 ----------------
        | ValueError: x
        +------------------------------------
"""

from __future__ import annotations

from dataclasses import dataclass, field

from k3logs.events.record import Link

LONGEST = 100
"""Lines of a message in which repetitions are looked for."""


@dataclass(frozen=True, slots=True)
class Margin:
    """What stands left of a group's line: how deep it is (1 is the outermost group), and the text behind.

    Attributes:
        rule: ``opens`` where a group's exceptions begin, ``next`` before a further one, ``ends`` behind the last; else empty.
    """

    depth: int
    text: str
    rule: str = ""


def margin(line: str) -> Margin | None:
    """The margin of a line; None where it has none."""
    body = line.lstrip(" ")
    depth = (len(line) - len(body)) // 2
    if not depth:
        return None
    if body == "|" or body.startswith(("| ", "+ ")):
        return Margin(depth, body[2:])
    if body.startswith("+-+-"):
        return Margin(depth + 1, "", "opens")
    if body.startswith("+--"):
        return Margin(depth, "", "next" if body.strip("+- ") else "ends")
    return None


@dataclass(slots=True)
class Nest:
    """Groups whose exceptions are still being read, outermost first, each with its depth."""

    groups: list[tuple[int, Link]] = field(default_factory=list)

    def enter(self, depth: int, group: Link | None, chain: list[Link]) -> None:
        """The exceptions of ``group`` follow, at ``depth``: what they caused leaves the chain until they are read."""
        place = next((n for n, link in enumerate(chain) if link is group), None)
        if place is not None:
            self.groups.append((depth - 1, chain.pop(place)))

    def leave(self, depth: int, chain: list[Link]) -> None:
        """Groups as deep as ``depth`` or deeper are over: each stands behind its causes now."""
        while self.groups and self.groups[-1][0] >= depth:
            chain.append(self.groups.pop()[1])


def once(message: str) -> str:
    """A message without the lines that repeat those right above: a note (PEP 678) that was added twice."""
    lines = message.split("\n")
    place = 1
    while place < len(lines) <= LONGEST:
        repeats = (n for n in range((len(lines) - place) // 2, 0, -1) if lines[place] == lines[place + n])
        size = next((n for n in repeats if lines[place : place + n] == lines[place + n : place + 2 * n]), 0)
        if size and any(line.strip() for line in lines[place : place + size]):
            del lines[place : place + size]
        else:
            place += 1
    return "\n".join(lines)
