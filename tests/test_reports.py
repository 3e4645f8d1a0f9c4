"""What the reports show of a verdict made by hand: the contract, the order, the masks, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import re
from pathlib import Path

import made
import pytest

from k3logs import model
from k3logs.cli.common import format_of
from k3logs.errors import InputError
from k3logs.reports import REPORTS, extensions, renderer, words
from k3logs.reports.base import Look
from k3logs.reports.contract import to_contract
from k3logs.reports.safe import one_line

CONTRACT = Path(__file__).resolve().parents[1] / "docs" / "verdict.schema.json"
VERDICTS = {
    "failure": made.verdict(),
    "everywhere": made.verdict(root_cause=made.suspect(rank=None, ranks=[0, 1, 2, 5], node=None)),
    "unknown": made.verdict(root_cause=made.suspect(rank=None, ranks=[], node=None, process=None, pid=None, time=None, time_low=None, time_high=None, stamp=None,
                                                    signature=None, context=[], role="unknown", exception=model.ExceptionText("ValueError", "no"))),
    "no_failure": made.verdict(outcome="no_failure", root_cause=None, alternatives=[], actions=[], missing=[], consequences=[]),
    "inconclusive": made.verdict(outcome="inconclusive", root_cause=None),
    "nothing": made.verdict(outcome="inconclusive", root_cause=None, alternatives=[], ranks=[], clocks=[], consistency=[], environment={}, actions=[],
                            findings=[], missing=[], coverage=model.Coverage(), runs=[], consequences=[], route="none"),
    "evil": made.evil(),
}  # fmt: skip
each_verdict = pytest.mark.parametrize("name", VERDICTS)


def contract() -> dict[str, object]:
    shared = Path(__file__).resolve().parents[2] / "shared" / "contract" / "verdict.schema.json"
    schema: dict[str, object] = json.loads((CONTRACT if CONTRACT.is_file() else shared).read_text())
    return schema


@each_verdict
@pytest.mark.parametrize("name_of_report", REPORTS)
def test_every_report_of_every_verdict_is_safe(name: str, name_of_report: str) -> None:
    text = renderer(name_of_report).render(VERDICTS[name], Look(color=False, width=80))
    assert text.endswith("\n")
    assert not re.search(r"[^\n\x20-\x7e…]", text), "control or invisible characters"
    assert "AbCdEfGhIjKl" not in text
    text.encode("utf-8")


@each_verdict
def test_json_is_the_contract(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = json.loads(renderer("json").render(VERDICTS[name]))
    jsonschema.Draft202012Validator(contract()).validate(found)
    assert found == to_contract(VERDICTS[name]) == VERDICTS[name].to_json()


def test_json_times_numbers_and_long_messages() -> None:
    root = made.suspect(message="x" * 900, details={"ratio": float("nan"), "seen": {2, 1}, "where": Path("a")})
    found = to_contract(made.verdict(root_cause=root))["root_cause"]
    assert found["time"] == "2026-08-05T12:00:02.123Z"
    assert found["time_high"] == "2026-08-05T12:00:03.123Z"
    assert len(found["message"]) == 500
    assert found["details"] == {"ratio": None, "seen": [1, 2], "where": "a"}


def test_text_answers_in_its_first_line_then_in_order() -> None:
    text = renderer("text").render(made.verdict(), Look(color=False, width=90))
    assert text.startswith("Rank 3 on node-02 failed first")
    order = ["first ", "phase ", "message ", "when ", "confidence ", "why ", "Evidence", "node-02.log:1234", "> 1234", "Set aside", "ranks 0-2,4-5",
             "What to do", "if: ", "collect first", "avoid: ", "What to collect", "Findings", "Read", "97.2% understood", "node-05.log: not read"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 90


def test_text_in_colour_says_the_same() -> None:
    plain = renderer("text").render(made.verdict(), Look(color=False, width=90))
    coloured = renderer("text").render(made.verdict(), Look(color=True, width=90))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_inconclusive_says_what_to_try() -> None:
    assert "docker logs --timestamps" in renderer("text").render(VERDICTS["nothing"])
    unread = made.verdict(outcome="inconclusive", root_cause=None, coverage=model.Coverage(10, 100, 0, 1))
    assert "k3logs grammars test" in renderer("text").render(unread)


def test_markdown_cannot_be_turned_into_markup() -> None:
    text = renderer("markdown").render(VERDICTS["evil"])
    outside = re.sub(r"(`+)[^`].*?[^`]\1(?!`)", "", re.sub(r"(?ms)^(````*)text$.*?^\1$", "", text))
    assert not re.search(r"(?<!\\)[<@]", outside)
    assert text.startswith("# ")
    assert "- [ ] " in text


@pytest.mark.parametrize(("name", "format"), [
    ("a.md", "markdown"), ("a.json", "json"), ("x/a.TXT", "text"), ("plain", "text"), ("x.y/plain", "text"), ("/dev/null", "text"), (None, "text"), ("-", "text"),
])  # fmt: skip
def test_format_from_the_name_of_the_file(name: str | None, format: str) -> None:
    assert format_of(name, extensions(), "text") == format


def test_a_name_that_no_format_has_is_refused() -> None:
    with pytest.raises(InputError, match=r"no format is written to \.log files \(end the name with \.txt, \.json, \.md, or add --format\)"):
        format_of("a.log", extensions(), "text")


def test_one_line_keeps_letters_of_every_script_and_cuts_long_texts() -> None:
    assert one_line("größe 日本語\n") == "größe 日本語"
    assert one_line("a\tb\nc\x07") == "a    b\\x0ac\\x07"
    assert one_line("\ud800\U000e0041\ufeff") == "\\ud800\\U000e0041\\ufeff"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"
    assert len(one_line("y" * 20_000_000, 100)) == 100


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (words.ranks([5, 0, 1, 2, 2]), "0-2,5"), (words.ranks([]), ""), (words.ranks(range(1000)), "0-999"),
        (words.rfc3339(0), "1970-01-01T00:00:00Z"), (words.rfc3339(-1), "1969-12-31T23:59:59.999999999Z"), (words.rfc3339(10**30), None), (words.rfc3339(None), None),
        (words.clock(made.BASE + 456), "2026-08-05 12:00:02.123Z"), (words.clock(None), "?"),
        (words.size(0), "0 B"), (words.size(999), "999 B"), (words.size(1_400_000), "1.4 MB"), (words.size(2_500_000_000), "2.5 GB"), (words.size(5e13), "50,000 GB"),
        (words.percent(0, 0), "0%"), (words.percent(999_999, 1_000_000), "99.9%"), (words.percent(1, 1_000_000), "0.1%"), (words.percent(5, 5), "100%"),
        (words.seconds(-0.5), "-0.500 s"), (words.seconds(75), "+1 min 15 s"), (words.seconds(-7201), "-2 h 00 min 01 s"),
        (words.counted(1, "line"), "1 line"), (words.counted(2000, "entry", "entries"), "2,000 entries"),
    ],
)  # fmt: skip
def test_words(got: object, wanted: object) -> None:
    assert got == wanted


def test_many_clocks_are_counted_and_the_telling_ones_shown() -> None:
    clocks = [model.ClockOffset(f"n{n:04d}", n / 1000, n / 1000, n / 1000, 3) for n in range(1000)] + [model.ClockOffset("lost", None, None, None, 0)]
    notices = [f"n{n}.log: not read" for n in range(50)]
    for name in ("text", "markdown"):
        text = renderer(name).render(made.verdict(clocks=clocks, coverage=model.Coverage(10, 10, 10, 1, notices)))
        assert text.count("anchors") == 11
        assert "lost: not tied" in text
        assert "989 more nodes, +0.000 s to +0.988 s" in text
        assert "n11.log" in text
        assert "n12.log" not in text
        assert "38 more notices" in text


def test_shares_are_of_rows_where_a_line_is_several() -> None:
    found = model.Coverage(10, 100, 10, 1, [], {"vllm": 30, "untagged": 10})
    assert "100% understood (vllm 75%, untagged 25%)" in renderer("text").render(made.verdict(coverage=found))
