"""The shipped grammars, loaded once for all tests of them."""

from __future__ import annotations

import random
import re
import string
import tomllib
from functools import cache
from pathlib import Path

from k3logs.grammar.line import Form, LineGrammar
from k3logs.grammar.samples import Sample, load_samples
from k3logs.paths import data_folder

ROOT = data_folder("grammars")
ORDER = tomllib.loads((ROOT / "order.toml").read_text())
LINE_GRAMMARS = sorted([*(ROOT / "envelopes").glob("*.lark"), *(ROOT / "dialects").glob("*.lark")])
MESSAGE_GRAMMARS = sorted((ROOT / "messages").glob("*.lark"))


def name(path: Path) -> str:
    return path.stem


@cache
def grammar(path: Path) -> LineGrammar:
    return LineGrammar(path, ROOT)


def in_order(kind: str) -> list[LineGrammar]:
    """Grammars of one list of ``order.toml``."""
    folder = "envelopes" if kind == "envelopes" else "dialects"
    return [grammar(ROOT / folder / f"{stem}.lark") for stem in ORDER[kind]]


@cache
def samples(path: Path) -> tuple[Sample, ...]:
    return tuple(load_samples(path))


def read_python(forms: tuple[Form, ...], line: str) -> dict[str, str] | None:
    """Read a line with Python's ``re``, first form first."""
    for form in forms:
        if match := re.match(form.pattern, line):
            return {"form": form.name} | {k: v for k, v in match.groupdict().items() if v is not None}
    return None


_LETTERS = string.ascii_letters + string.digits + " :[]().,=-_/'\"\t|<>é０"


def mutants(seed: str, pool: list[str], count: int) -> list[str]:
    """Lines of ``pool`` with one to three characters lost, added, changed or pieces repeated; always the same for a seed."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        text = list(rng.choice(pool))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text) + 1)
            match rng.randrange(4):
                case 0 if at < len(text):
                    del text[at]
                case 1 if at < len(text):
                    text[at] = rng.choice(_LETTERS)
                case 2 if text:
                    start = rng.randrange(len(text))
                    text[at:at] = text[start : start + rng.randint(1, 6)]
                case _:
                    text.insert(at, rng.choice(_LETTERS))
        made.append("".join(text))
    return made
