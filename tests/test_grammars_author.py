"""A user's grammars: what is wrong with one is said with path, line, reason and what to do; their order is the user's to choose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from k3logs import paths
from k3logs.errors import AuthorError
from k3logs.grammar import bundle

GRAMMAR = '%import .terminals (DATE, CLOCK, _SP, MESSAGE)\n\nline: "<" LEVEL "> " MESSAGE? -> record\n\nLEVEL: /[A-Z]+/\n'
SAMPLES = "[[sample]]\nline = '<ERROR> x'\nform = 'record'\nfields = { level = 'ERROR', message = 'x' }\n"


def folder(root: Path, grammar: str | bytes = GRAMMAR, samples: str | bytes = SAMPLES, name: str = "mine", kind: str = "dialects") -> Path:
    (root / kind).mkdir(parents=True, exist_ok=True)
    for end, text in ((".lark", grammar), (".samples.toml", samples)):
        (root / kind / f"{name}{end}").write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def test_a_users_grammar_is_used(tmp_path: Path) -> None:
    assert "mine.record" in [form.id for form in bundle.load([folder(tmp_path)]).dialects.forms]


@pytest.mark.parametrize(("pattern", "reason"), [
    ("(?=[A-Z])[A-Z]+", "a look-ahead"), ("(?<=<)[A-Z]+", "a look-ahead or look-behind"), (r"([A-Z])\1", "a back-reference"), (r"\b[A-Z]+", "an anchor"), ("^[A-Z]+", "an anchor"),
    ("(?>[A-Z]+)", "an atomic group"), ("[A-Z]++", "a possessive repeat"), ("(?i)error", "does not compile"), ("(?i:error)", "a flag"), ("[A-", "LEVEL"), (r"\p{L}+", "LEVEL"), ("[A-Z]*", "zero-width"),
    (r"[A-Z]+(?:\1)", "LEVEL"),
])  # fmt: skip
def test_a_pattern_outside_the_subset_is_named_with_its_line(pattern: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AuthorError) as raised:
        bundle.load([folder(tmp_path, GRAMMAR.replace("[A-Z]+", pattern))])
    assert (raised.value.path, raised.value.line) == (tmp_path / "dialects" / "mine.lark", 5)
    assert reason in raised.value.reason
    assert raised.value.help


@pytest.mark.parametrize(("changes", "file", "line", "words"), [
    ({"grammar": GRAMMAR.encode() + b"// \xff\n"}, "dialects/mine.lark", 6, "is not UTF-8"),
    ({"samples": SAMPLES.encode() + b"# \xe4\n"}, "dialects/mine.samples.toml", 5, "is not UTF-8"),
    ({"samples": SAMPLES + "[[sample]\n"}, "dialects/mine.samples.toml", 5, "is not TOML"),
    ({"grammar": ""}, "dialects/mine.lark", 0, "not a line grammar"),
    ({"grammar": GRAMMAR.replace(" -> record", "")}, "dialects/mine.lark", 0, "-> name"),
    ({"name": "vllm"}, "dialects/vllm.lark", 0, "the name of a grammar that ships"),
    ({"name": "rank", "kind": "envelopes"}, "envelopes/rank.lark", 0, "the name of a grammar that ships"),
])  # fmt: skip
def test_a_wrong_file_is_named(changes: dict[str, str], file: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(AuthorError) as raised:
        bundle.load([folder(tmp_path, **changes)])
    assert (raised.value.path, raised.value.line) == (tmp_path / file, line)
    assert words in raised.value.reason


def test_two_folders_cannot_hold_the_same_name(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match="mine is the name of .*one.dialects.mine.lark, too"):
        bundle.load([folder(tmp_path / "one"), folder(tmp_path / "two", GRAMMAR + "\n")])


def test_a_folder_without_grammars_is_no_folder_of_grammars(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match="holds no grammar"):
        bundle.load([folder(tmp_path) / "dialects"])


def names(found: bundle.FormSet) -> list[str]:
    return list(dict.fromkeys(form.grammar for form in found.forms))


def test_order_toml_places_a_users_grammar(tmp_path: Path) -> None:
    folder(tmp_path)
    last = names(bundle.load([tmp_path]).dialects)
    assert last[-1] == "mine"
    (tmp_path / "order.toml").write_text('dialects = ["mine", "vllm"]\n')
    first = bundle.load([tmp_path])
    assert names(first.dialects) == ["mine", *last[:-1]]
    (tmp_path / "order.toml").write_text('texts = ["mine"]\n')
    text = bundle.load([tmp_path])
    assert (names(text.dialects), names(text.texts)[-1]) == (last[:-1], "mine")


@pytest.mark.parametrize(("order", "line", "words"), [
    ('dialects = ["mine"', 0, "not an order file"), ('\ndialects = ["vllm", "nope"]', 2, "there is no dialects/nope.lark"), ('dialecs = ["mine"]', 1, "'dialecs'"), ('dialects = "mine"', 1, "'dialects'"),
    (b'# \xff', 0, "not an order file"), ('envelopes = ["mine"]', 1, "there is no envelopes/mine.lark"),
])  # fmt: skip
def test_an_order_that_is_wrong_is_named(order: str | bytes, line: int, words: str, tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "order.toml").write_bytes(order if isinstance(order, bytes) else order.encode())
    with pytest.raises(AuthorError) as raised:
        bundle.load([tmp_path])
    assert (raised.value.path, raised.value.line) == (tmp_path / "order.toml", line)
    assert words in raised.value.reason


@pytest.mark.parametrize("args", [["triage", "README.md"], ["grammars", "test", "x"], ["grammars", "list"], ["explain", "x y"], ["parse", "README.md"]])
def test_every_command_says_so_in_one_line(args: list[str], tmp_path: Path) -> None:
    folder(tmp_path, GRAMMAR.encode() + b"// \xff\n")
    done = subprocess.run([sys.executable, "-m", "k3logs", *args, "--grammars", str(tmp_path)], capture_output=True, text=True, check=False, cwd=paths.PACKAGE.parent)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"{tmp_path}/dialects/mine.lark:6: is not UTF-8" in done.stderr


def test_a_cache_is_cleared_of_what_killed_runs_left(tmp_path: Path) -> None:
    for name in (".grammars-1.pickle.77.part", ".grammars-2.pickle.78.part", "other.part", *(f"grammars-{n:04d}.pickle" for n in range(40))):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (1, 1) if "1.pickle" in name or name == "other.part" else None)
    paths.keep(tmp_path / "grammars-new.pickle", b"new")
    left = {path.name for path in tmp_path.iterdir()}
    assert {"other.part", ".grammars-2.pickle.78.part", "grammars-new.pickle"} <= left
    assert ".grammars-1.pickle.77.part" not in left
    assert len(left) <= 27
    paths.keep(tmp_path / "file" / "x", b"made")
    assert (tmp_path / "file" / "x").read_bytes() == b"made"
    paths.keep(tmp_path / "other.part" / "x", b"no folder: no error")
