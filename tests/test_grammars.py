"""Line grammars: their samples, and one reading by Lark, Python and Rust of samples and of mutants."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from grammar_files import LINE_GRAMMARS, ORDER, ROOT, grammar, in_order, mutants, name, read_python, samples

from k3logs.errors import AuthorError
from k3logs.grammar.determinism import conflicts
from k3logs.grammar.line import Form, LineGrammar
from k3logs.grammar.samples import SUFFIX, check, read_columns

MUTANTS = 2_000

OVERLAPS = {
    ("envelopes", "cri.piece"): {"rfc3339.stamped"},
    ("envelopes", "ip_link.interface"): {"srun.label"},
    ("envelopes", "rank.spaced"): {"rank.glued"},
    ("envelopes", "pdsh.spaced"): {"pdsh.glued"},
    ("envelopes", "srun.label"): {"pdsh.glued"},
    ("dialects", "kernel.syslog"): {"kernel.syslog_text"},
    ("dialects", "kernel_host.hosted"): {"kernel_host.hosted_text"},
    ("dialects", "pylog_rank.record"): {"pylog_rank_text.record"},
    ("dialects", "vllm.record"): {"bare_level.spaced"},
    ("dialects", "vllm.old_record"): {"bare_level.spaced"},
    ("dialects", "uvicorn.record"): {"bare_level.labelled"},
}
"""Forms that a later form of the same list also fits, as the comments in ``order.toml`` say; no others do."""


@pytest.mark.parametrize("path", LINE_GRAMMARS, ids=name)
def test_samples_are_read_as_they_say(path: Path) -> None:
    assert check(path).forms


def test_every_grammar_has_its_place_in_the_order() -> None:
    assert sorted(ORDER["envelopes"]) == sorted(p.stem for p in LINE_GRAMMARS if p.parent.name == "envelopes")
    assert sorted([*ORDER["dialects"], *ORDER["texts"]]) == sorted(p.stem for p in LINE_GRAMMARS if p.parent.name == "dialects")


@pytest.mark.parametrize("path", LINE_GRAMMARS, ids=name)
def test_three_engines_read_samples_and_mutants_alike(path: Path) -> None:
    own = [s.line for s in samples(path)]
    others = [s.line for other in LINE_GRAMMARS for s in samples(other)]
    lines = own + others + mutants(path.stem, own, MUTANTS * 3 // 4) + mutants(path.stem, others, MUTANTS // 4)
    known = grammar(path)
    by_rust = read_columns(known.forms, lines)
    accepted = 0
    for line, rust in zip(lines, by_rust, strict=True):
        lark = known.parse(line)
        assert lark == rust == read_python(known.forms, line), line
        accepted += lark is not None
    assert accepted


def _header_ends(form: Form, line: str) -> int:
    """Where the message starts, counted as the engine does: bytes of the header's segments and the separator."""
    match = re.match(form.header, line)
    assert match, (form.id, line)
    length = sum(s.length for s in form.segments) + sum(len(match[s.group].encode()) for s in form.segments if s.group)
    return min(length + form.separator, len(line.encode()))


@pytest.mark.parametrize("path", LINE_GRAMMARS, ids=name)
def test_header_ends_where_the_message_begins(path: Path) -> None:
    forms = {form.name: form for form in grammar(path).forms}
    for sample in samples(path):
        if sample.form is None:
            continue
        form, line = forms[sample.form], sample.line.encode()
        assert line[_header_ends(form, sample.line) :].decode() == sample.fields.get("message", ""), line
        for place, allowed in enumerate(form.opening):
            assert place >= len(line) or allowed >> line[place] & 1, (form.id, line, place)


@pytest.mark.parametrize(("path", "form"), [(p, f.name) for p in LINE_GRAMMARS for f in grammar(p).forms], ids=lambda v: v if isinstance(v, str) else v.stem)
def test_a_grammar_without_one_of_its_forms_is_refused(path: Path, form: str, tmp_path: Path) -> None:
    shutil.copy(path.with_name(path.stem + SUFFIX), tmp_path)
    text = path.read_text()
    kept = re.sub(rf"^(line:|    \|) .*-> {form}\n", "", text, flags=re.MULTILINE)
    assert kept != text
    if "\nline:" not in kept and not kept.startswith("line:"):
        kept = kept.replace("\n    | ", "\nline: ", 1)
    (tmp_path / path.name).write_text(kept)
    with pytest.raises(AuthorError):
        check(tmp_path / path.name, ROOT)


@pytest.mark.parametrize("kind", ["envelopes", "dialects", "texts"])
def test_forms_are_disjoint_but_for_those_that_say_so(kind: str) -> None:
    forms = [form for g in in_order(kind) for form in g.forms]
    found: dict[tuple[str, str], set[str]] = {}
    for known in in_order(kind):
        for sample in samples(known.path):
            if sample.form is None:
                continue
            fits = [form.id for form in forms if re.match(form.pattern, sample.line)]
            assert fits[0] == f"{known.name}.{sample.form}", (sample.line, fits)
            if fits[1:]:
                found.setdefault((kind, fits[0]), set()).update(fits[1:])
    assert found == {key: value for key, value in OVERLAPS.items() if key[0] == kind}


@pytest.mark.parametrize("pattern", [r"a?a", r"a*ab", r"x{1,3}x", r"[0-9]+[0-9a-f]*", r"(?:a|b)*a"])
def test_patterns_with_two_ways_on_are_found(pattern: str) -> None:
    assert list(conflicts(pattern))


@pytest.mark.parametrize("pattern", [r"a+b", r"x{1,3}y", r"(?:ab|cd)+", r"[0-9]{4}-[0-9]{2}", r"(?:a(?:b|c))?d"])
def test_patterns_with_one_way_on_are_passed(pattern: str) -> None:
    assert not list(conflicts(pattern))


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ('line: "a" MESSAGE   -> x\nMESSAGE: /.+/', "is not optional"),
        ('line: MESSAGE? "a"   -> x\nMESSAGE: /.+/', "must be the last part"),
        ('line: "a" MESSAGE?\nMESSAGE: /.+/', "no '-> name'"),
        ('line: A A   -> x\nA: /a/', "appears twice"),
        ('line: A B   -> x\nA: /[0-9]+/\nB: /[0-9]+x/', "more than one way"),
        ('line: "(" line? ")"   -> x', "recursive"),
        ('line: A*   -> x\nA: /a/', "outside the regular subset"),
        ('line: [stamp] B   -> x\nstamp: A\nA: /a/\nB: /b/', "inside an optional part"),
        ('line: nothing   -> x', "nothing"),
    ],
)
def test_what_is_no_line_grammar_is_refused_with_its_line(rules: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "user.lark"
    path.write_text(rules + "\n")
    with pytest.raises(AuthorError, match=reason):
        assert LineGrammar(path, ROOT).forms


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no sample"),
        ("[[sample]", "is not TOML"),
        ('[[sample]]\nline = "<1>x"\nform = "one"', "has the keys"),
        ('[[sample]]\nline = "<1>x"\nform = "one"\nfields = { n = "2", message = "x" }', "the sample says"),
        ('[[sample]]\nline = "<y>x"\nform = "one"\nfields = { }', "is not read"),
        ('[[sample]]\nline = "<1>x"\nform = "one"\nfields = { n = "1", message = "x" }\n[[not]]\nline = "<2>"', "must be refused"),
    ],
)
def test_samples_that_do_not_hold_are_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "user.lark"
    path.write_text('%import .terminals (MESSAGE)\nline: "<" N ">" MESSAGE?   -> one\nN: /[0-9]/\n')
    (tmp_path / f"user{SUFFIX}").write_text(text)
    with pytest.raises(AuthorError, match=reason) as error:
        check(path)
    assert error.value.help


def test_a_grammar_without_samples_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "user.lark"
    path.write_text('%import .terminals (MESSAGE)\nline: "<" MESSAGE?   -> one\n')
    with pytest.raises(AuthorError, match="cannot be read"):
        check(path)
