"""The verdict as a ticket: Markdown that GitHub, GitLab and Jira show alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from k3logs.reports import tell
from k3logs.reports.base import Look
from k3logs.reports.safe import one_line

if TYPE_CHECKING:
    from k3logs.model import Action, Suspect, Verdict

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~@!&"})


def plain(text: str) -> str:
    """``text`` with everything that Markdown or a tracker would act on (emphasis, HTML, links, mentions) made plain."""
    return text.translate(_SPECIAL)


def code(text: str) -> str:
    """``text`` as an inline code span, whatever backticks it holds."""
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    fence = "`" * (longest + 1)
    pad = " " if not text or text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


class MarkdownReport:
    """Headings, a list of facts, the log lines as a code block, and a check list of what to do."""

    extension = "md"

    def render(self, verdict: Verdict, look: Look = Look()) -> str:  # noqa: B008
        """See :class:`k3logs.reports.base.Renderer`."""
        return "\n".join(_lines(verdict)) + "\n"


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"# {plain(one_line(verdict.sentence, 1000))}"
    if hint := tell.suggestion(verdict):
        yield from ("", plain(hint))
    if root := verdict.root_cause:
        yield ""
        yield from (f"- **{label}**: {text}" for label, text in _facts(root) if text)
        yield from _section("Why", (f"- {plain(one_line(reason, 500))}" for reason in root.why))
        yield from _section("Evidence", _evidence(root))
    yield from _section("Set aside as consequence", _bullets(map(tell.aside, verdict.consequences)))
    yield from _section("Other candidates", _others(verdict.alternatives))
    yield from _section("What to do", _actions(verdict.actions))
    yield from _section("What to collect", (f"- [ ] {plain(one_line(text, 1000))}" for text in verdict.missing))
    yield from _section("Findings", _bullets(tell.findings(verdict.findings)))
    yield from _section("Not the same everywhere", _bullets(tell.differences(verdict.consistency)))
    yield from _section("Ranks", _bullets(tell.states(verdict.ranks)))
    yield from _section("Clocks", _bullets(tell.clocks(verdict.clocks)))
    yield from _section("Attempts", _bullets(tell.runs(verdict.runs)))
    yield from _section("Read", _bullets([tell.coverage(verdict.coverage), *tell.notices(verdict.coverage.notices), f"k3logs {verdict.version}"]))


def _facts(root: Suspect) -> Iterator[tuple[str, str]]:
    yield "First to fail" if (role := tell.role(root)) == "first" else role.capitalize(), plain(tell.who(root))
    yield "Phase", plain(root.phase)
    yield "Category", plain(root.category)
    yield "Message", code(tell.message(root))
    yield "Exception", code(text) if (text := tell.exception(root)) else ""
    yield "Read from it", plain(tell.numbers(root))
    yield "When", plain(tell.when(root))
    yield "Signature", plain(tell.signature(root))
    yield "Confidence", tell.sure(root)
    yield "Fingerprint", code(root.fingerprint) if root.fingerprint else ""


def _evidence(root: Suspect) -> Iterator[str]:
    rows = tell.evidence(root)
    yield code(tell.place(root.source, root.line))
    yield ""
    text = [f"{'>' if marked else ' '} {line} {text}" for line, text, marked in rows]
    fence = "```"
    while any(fence in row for row in text):
        fence += "`"
    yield from (fence + "text", *text, fence)


def _others(suspects: Iterable[Suspect]) -> Iterator[str]:
    for suspect in list(suspects)[:3]:
        where = f"{tell.who(suspect)}, {suspect.category}, confidence {suspect.confidence:.2f}"
        yield f"- {code(tell.message(suspect))}: {plain(where)}, {code(tell.place(suspect.source, suspect.line))}"


def _actions(actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        yield f"- [ ] {plain(one_line(action.do, 1000))}"
        if action.when:
            yield f"  - if: {plain(one_line(action.when, 1000))}"
        yield from (f"  - collect first: {code(one_line(command, 500))}" for command in action.collect)
        yield from (f"  - avoid: {plain(one_line(reason, 500))}" for reason in action.avoid)
        if action.evidence:
            yield f"  - seen at: {', '.join(code(tell.seen(text)) for text in action.evidence[:4])}"


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    return (f"- {plain(text)}" for text in texts)


def _section(title: str, body: Iterable[str]) -> Iterator[str]:
    rows = list(body)
    if rows:
        yield from ("", f"## {title}", "", *rows)
