"""The verdict for a terminal or a chat: the answer in the first line, then why, then what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from k3logs.reports import tell
from k3logs.reports.base import Look
from k3logs.reports.safe import one_line

if TYPE_CHECKING:
    from k3logs.model import Action, Suspect, Verdict

_LABEL = 13
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_OUTCOME = {"failure": "red", "no_failure": "green", "inconclusive": "yellow"}


class TextReport:
    """Plain text of at most ``look.width`` columns (log lines of the evidence are wrapped, not cut), coloured on request."""

    extension = "txt"

    def render(self, verdict: Verdict, look: Look = Look()) -> str:  # noqa: B008
        """See :class:`k3logs.reports.base.Renderer`."""
        return "\n".join(_Page(verdict, look).lines()) + "\n"


class _Page:
    def __init__(self, verdict: Verdict, look: Look) -> None:
        self.verdict = verdict
        self.width = max(40, look.width)
        self.color = look.color

    def lines(self) -> Iterator[str]:
        verdict = self.verdict
        for line in self.wrap(one_line(verdict.sentence, 1000), ""):
            yield self.paint(line, "bold", _OUTCOME[verdict.outcome])
        if hint := tell.suggestion(verdict):
            yield from self.wrap(hint, "")
        if verdict.root_cause:
            yield ""
            yield from self.suspect(verdict.root_cause)
            yield from self.section("Evidence", self.evidence(verdict.root_cause))
        yield from self.section("Set aside as consequence", self.bullets(map(tell.aside, verdict.consequences)))
        yield from self.section("Other candidates", self.others(verdict.alternatives))
        yield from self.section("What to do", self.actions(verdict.actions))
        yield from self.section("What to collect", self.bullets(one_line(text, 1000) for text in verdict.missing))
        yield from self.section("Findings", self.bullets(tell.findings(verdict.findings)))
        yield from self.section("Not the same everywhere", self.bullets(tell.differences(verdict.consistency)))
        yield from self.section("Ranks", self.bullets(tell.states(verdict.ranks)))
        yield from self.section("Clocks (offset to the reference)", self.bullets(tell.clocks(verdict.clocks)))
        yield from self.section("Attempts", self.bullets(tell.runs(verdict.runs)))
        yield from self.section("Read", self.bullets([tell.coverage(verdict.coverage), *tell.notices(verdict.coverage.notices)]))

    def suspect(self, suspect: Suspect) -> Iterator[str]:
        yield from self.field(tell.role(suspect), tell.who(suspect))
        yield from self.field("phase", suspect.phase)
        yield from self.field("category", suspect.category)
        yield from self.field("message", tell.message(suspect))
        yield from self.field("exception", tell.exception(suspect))
        yield from self.field("read from it", tell.numbers(suspect))
        yield from self.field("when", tell.when(suspect))
        yield from self.field("signature", tell.signature(suspect))
        yield from self.field("confidence", tell.sure(suspect))
        for number, reason in enumerate(suspect.why):
            yield from self.field("" if number else "why", f"- {one_line(reason, 500)}", always=True)
        yield from self.field("fingerprint", suspect.fingerprint)

    def evidence(self, suspect: Suspect) -> Iterator[str]:
        yield "  " + self.paint(tell.place(suspect.source, suspect.line), "cyan")
        rows = tell.evidence(suspect)
        digits = max(len(str(line)) for line, _, _ in rows)
        for line, text, marked in rows:
            margin = f"  {'>' if marked else ' '} {line:>{digits}}  "
            if marked:
                for row in self.wrap(text, margin, len(margin)):
                    yield self.paint(row, "bold")
            else:
                room = self.width - len(margin)
                yield self.paint((margin + (text if len(text) <= room else text[: room - 1] + "…")).rstrip(), "dim")

    def others(self, suspects: Iterable[Suspect]) -> Iterator[str]:
        for suspect in list(suspects)[:3]:
            where = f"{tell.who(suspect)}, {tell.place(suspect.source, suspect.line)}, {suspect.category}, confidence {suspect.confidence:.2f}"
            yield from self.wrap(f"- {tell.message(suspect)}", "  ", 4)
            yield from self.wrap(where, "    ")

    def actions(self, actions: Iterable[Action]) -> Iterator[str]:
        for number, action in enumerate(actions, 1):
            yield from self.wrap(f"{number}. {one_line(action.do, 1000)}", "  ", 5)
            if action.when:
                yield from self.wrap(f"if: {one_line(action.when, 1000)}", "     ", 9)
            if action.collect:
                yield "     collect first:"
                yield from (f"         {one_line(command, 1000)}" for command in action.collect)  # not wrapped, so that it can be pasted
            for reason in action.avoid:
                yield from self.wrap(f"avoid: {one_line(reason, 500)}", "     ", 9)
            if action.evidence:
                yield from self.wrap(f"seen at: {', '.join(map(tell.seen, action.evidence[:4]))}", "     ", 9)

    def section(self, title: str, body: Iterable[str]) -> Iterator[str]:
        rows = list(body)
        if rows:
            yield ""
            yield self.paint(title, "bold")
            yield from rows

    def bullets(self, texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            yield from self.wrap(f"- {text}", "  ", 4)

    def field(self, label: str, text: str, *, always: bool = False) -> Iterator[str]:
        if text or always:
            first, *rest = self.wrap(text, " " * (_LABEL + 2), _LABEL + (4 if always else 2))
            yield f"  {self.paint(f'{label:<{_LABEL}}', 'dim')}{first[_LABEL + 2 :]}"
            yield from rest

    def wrap(self, text: str, margin: str, hang: int | None = None) -> list[str]:
        """``text`` in lines of the page's width; ``margin`` before the first, ``hang`` blanks before the others."""
        later = " " * (len(margin) if hang is None else hang)
        return textwrap.wrap(text, self.width, initial_indent=margin, subsequent_indent=later, break_on_hyphens=False) or [margin]

    def paint(self, text: str, *styles: str) -> str:
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m" if self.color else text


