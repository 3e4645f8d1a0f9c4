"""A signature file that its author must mend: each kind of mistake is refused with path and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from k3logs.errors import AuthorError, InputError
from k3logs.signatures.catalog import Catalog
from k3logs.signatures.patterns import objection

GOOD = """\
id = "SITE001"
title = "Storage gateway is down"
role = "depends"
condition = "alone"
category = "storage"
phases = ["serving"]
specificity = 40
references = ["our wiki"]
[match]
literals = ["gateway unreachable"]
pattern = 'gateway unreachable: (?P<peer_host>[a-z0-9-]+)'
[explain]
what = "w"
why = "w"
next = "n"
false_positives = "none"
[[actions]]
do = "call storage"
when = "always"
[[samples]]
line = '''ERROR gateway unreachable: gw-1'''
fields = { peer_host = "gw-1" }
[[not_samples]]
line = '''INFO gateway reachable: gw-1'''
"""

MISTAKES = {
    "unknown key": ('title = "', 'titel = "x"\ntitle = "', 2, "unknown key 'titel'"),
    "unknown key in match": ("literals = [", 'litterals = []\nliterals = [', 10, "unknown key 'litterals'"),
    "unknown key in a sample": ("fields = {", 'feilds = {}\nfields = {', 22, "unknown key 'feilds'"),
    "missing field": ('title = "Storage gateway is down"\n', "", 1, "title is missing"),
    "empty explain": ('why = "w"', 'why = ""', 14, "why is missing or empty"),
    "wrong type": ("specificity = 40", 'specificity = "40"', 7, "must be of type int"),
    "specificity out of range": ("specificity = 40", "specificity = 140", 7, "0 to 100"),
    "list of numbers": ('phases = ["serving"]', "phases = [1]", 6, "list of texts"),
    "bad category": ('category = "storage"', 'category = "disk"', 5, "category 'disk' is not known"),
    "bad phase": ('["serving"]', '["lunch"]', 6, "phases 'lunch' is not known"),
    "bad role": ('role = "depends"', 'role = "culprit"', 3, "role 'culprit' is not known"),
    "bad condition": ('condition = "alone"', 'condition = "perhaps"', 4, "condition 'perhaps' is not known"),
    "depends without condition": ('condition = "alone"\n', "", 1, "condition goes with role depends"),
    "condition without depends": ('role = "depends"', 'role = "cascade"', 4, "condition goes with role depends"),
    "bad status": ('role = "depends"', 'status = "final"\nrole = "depends"', 3, "status 'final' is not known"),
    "id not of the file name": ('id = "SITE001"', 'id = "SITE002"', 1, "id 'SITE002' does not fit"),
    "id without number": ('id = "SITE001"', 'id = "SITE"', 1, "does not fit"),
    "cause without action": ('[[actions]]\ndo = "call storage"\nwhen = "always"\n', "", 3, "needs [[actions]]"),
    "action without when": ('when = "always"\n', "", 17, "when is missing"),
    "short literal": ('"gateway unreachable"', '"gateway"', 10, "shorter than 8"),
    "pattern does not compile": ("[a-z0-9-]+)", "[a-z0-9-]+", 11, "does not compile"),
    "look-ahead": ("pattern = '", "pattern = '(?!x)", 11, "look-ahead"),
    "back-reference": ("[a-z0-9-]+)", r"[a-z0-9-]+)\1", 11, "back-reference"),
    "Unicode class": ("[a-z0-9-]+", r"\w+", 11, "Unicode in one engine"),
    "group not known": ("peer_host>", "whom>", 11, "group 'whom' is not known"),
    "sample not matched": ("ERROR gateway unreachable: gw-1", "ERROR gateway unreachable, gw-1", 21, "does not match this sample"),
    "sample without literal": ("ERROR gateway unreachable: gw-1", "ERROR gateway gone: gw-1", 21, "no literal stands in this sample"),
    "fields differ": ('peer_host = "gw-1"', 'peer_host = "gw-2"', 21, "fields read"),
    "fields are not texts": ('peer_host = "gw-1"', "peer_host = 1", 22, "fields are texts"),
    "not_sample claimed": ("INFO gateway reachable: gw-1", "INFO gateway unreachable: gw-1", 24, "not_sample is claimed"),
    "not TOML": ("[match]", "[match", 9, "is not TOML"),
}  # fmt: skip


def load(folder: Path, *files: tuple[str, str]) -> Catalog:
    folder.mkdir(exist_ok=True)
    for name, text in files:
        (folder / name).write_text(text)
    return Catalog.load(folder=folder)


def test_the_good_file_is_good(tmp_path: Path) -> None:
    signature = load(tmp_path, ("SITE001-gate.toml", GOOD)).by_id("SITE001")
    assert signature is not None and signature.specificity == 40 and signature.condition == "alone"


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistake_is_refused_with_path_and_line(kind: str, tmp_path: Path) -> None:
    old, new, line, reason = MISTAKES[kind]
    assert GOOD.count(old) == 1, f"{old!r} must stand once in the good file"
    with pytest.raises(AuthorError) as caught:
        load(tmp_path, ("SITE001-gate.toml", GOOD.replace(old, new)))
    said = str(caught.value)
    assert reason in said
    assert re.search(rf"SITE001-gate\.toml:{line}: ", said), said
    assert caught.value.exit_status == 2


def test_short_literal_is_allowed_with_a_reason(tmp_path: Path) -> None:
    text = GOOD.replace('literals = ["gateway unreachable"]', 'literals = ["gateway"]\nshort_literals = "no healthy log names it"')
    assert len(load(tmp_path, ("SITE001-gate.toml", text))) == 1


def test_duplicate_id(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match=r"SITE001-b\.toml:1: id SITE001 is taken by SITE001-a\.toml"):
        load(tmp_path, ("SITE001-a.toml", GOOD), ("SITE001-b.toml", GOOD))


def test_retired_id_stays_taken_and_redirects(tmp_path: Path) -> None:
    heir = GOOD.replace('id = "SITE001"', 'id = "SITE002"\nformerly = ["SITE001"]')
    catalog = load(tmp_path, ("SITE002-gate.toml", heir))
    found = catalog.by_id("SITE001")
    assert found is not None and found.id == "SITE002"
    with pytest.raises(AuthorError, match="id SITE001 is taken"):
        load(tmp_path, ("SITE001-gate.toml", GOOD))


def test_sample_of_two_equal_signatures(tmp_path: Path) -> None:
    twin = GOOD.replace("SITE001", "SITE002")
    with pytest.raises(AuthorError, match=r"SITE001-a\.toml:21: this sample is also claimed by SITE002"):
        load(tmp_path, ("SITE001-a.toml", GOOD), ("SITE002-b.toml", twin))


def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "SITE001-gate.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(AuthorError, match="1: is not UTF-8"):
        Catalog.load(folder=tmp_path)


def test_missing_folder() -> None:
    with pytest.raises(InputError, match="no folder of signatures"):
        Catalog.load(extra=["/nonexistent/signatures"])


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)", "look-ahead"), ("(?<!a)b", "look-behind"), ("(?P<x>a)(?P=x)", "back-reference"), ("(?>a)", "atomic"),
        ("a++", "possessive"), ("a{2}+", "possessive"), (r"\ba", "differs between the engines"), (r"a\Z", "differs"), ("[é]", "not ASCII"),
        (r"[\d]", "Unicode"), ("(", "does not compile"),
    ],
)  # fmt: skip
def test_patterns_that_one_engine_reads_otherwise(pattern: str, reason: str) -> None:
    assert reason in objection(pattern)


@pytest.mark.parametrize("pattern", ["[]a]+", r"\[(?P<x>[0-9]+)\]", "[^]]+", "(?:a|b)?", "(?i)abc", r"a\+\+b", "[+]+", "é"])
def test_portable_patterns(pattern: str) -> None:
    assert objection(pattern) == ""
