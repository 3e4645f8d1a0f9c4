"""How much of real logs the line grammars know: printed (``pytest -s``), and never a line that makes them fail.

Runs over ``corpus/`` and, where ``K3LOGS_CASES`` names a folder, over all logs in there.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from grammar_files import in_order

from k3logs.grammar.line import Form
from k3logs.paths import data_folder

DEPTH = 6
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FOLDERS = [data_folder("corpus"), *map(Path, filter(None, [os.environ.get("K3LOGS_CASES")]))]


def lines(folder: Path) -> Iterator[str]:
    for path in sorted(p for p in folder.rglob("*") if p.suffix in {".log", ".txt", ".out", ".err"} and p.is_file()):
        for line in path.read_text(errors="replace").split("\n"):
            yield _COLOUR.sub("", line.rstrip("\r"))


@cache
def forms(kind: str) -> list[tuple[Form, re.Pattern[str]]]:
    whole = kind == "texts"
    return [(f, re.compile(f.pattern if whole else f.header)) for g in in_order(kind) for f in g.forms]


def first(kind: str, line: str) -> tuple[str, str] | None:
    """The first form of a list that fits, and the message behind its header."""
    for form, pattern in forms(kind):
        if match := pattern.match(line):
            if kind == "texts":
                return form.id, line
            length = sum(s.length for s in form.segments) + sum(len(match[s.group]) for s in form.segments if s.group)
            return form.id, line[min(length + form.separator, len(line)) :]
    return None


def claimed(line: str) -> Iterator[str]:
    """Forms that read a line, from the outside in."""
    for _ in range(DEPTH):
        if not (found := first("envelopes", line)):
            break
        yield found[0]
        line = found[1]
    if not line.strip():
        yield "(blank)"
    elif found := first("dialects", line) or first("texts", line):
        yield found[0]
    else:
        yield "(code or caret below a frame)" if line.startswith("    ") else "(no form)"


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda p: p.name)
def test_share_of_lines_that_are_known(folder: Path) -> None:
    count: Counter[str] = Counter()
    total = 0
    for line in lines(folder):
        total += 1
        count.update(set(claimed(line)))
    print(f"\n{folder}: {total} lines")
    for form, n in count.most_common():
        print(f"  {n / max(total, 1):7.2%}  {n:7}  {form}")
    assert total
