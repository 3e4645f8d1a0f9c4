"""A grammar's own samples: lines it must read, what must be read from them, and lines it must refuse.

They stand in ``NAME.samples.toml`` beside ``NAME.lark``, for the grammars that ship and for a user's own::

    [[sample]]
    line = '[rank3]: Traceback (most recent call last):'
    form = "spaced"
    fields = { rank = "3", message = "Traceback (most recent call last):" }

    [[not]]
    line = "[rankX]: hello"

``fields`` is all that is read, not a part of it. Each sample is read twice, by Lark and by the compiled
pattern in Rust (through polars); a grammar whose two engines differ is refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from k3logs.errors import AuthorError
from k3logs.grammar.author import read_text
from k3logs.grammar.line import Form, LineGrammar
from k3logs.grammar.message import MessageGrammar
from k3logs.paths import data_folder

SUFFIX = ".samples.toml"


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a samples file; ``form`` is None for a line that must be refused."""

    path: Path
    number: int
    line: str
    form: str | None
    fields: dict[str, Any] = field(default_factory=dict)

    def wrong(self, reason: str, help: str = "") -> AuthorError:
        """The error that names this sample's place."""
        return AuthorError(self.path, self.number, f"{reason}: {self.line!r}", help)


def samples_path(grammar: Path) -> Path:
    """``nccl.lark`` -> ``nccl.samples.toml``."""
    return grammar.with_name(grammar.stem + SUFFIX)


def load_toml(path: Path, missing_help: str = "") -> tuple[dict[str, Any], list[str]]:
    """The data of a TOML file and its lines.

    Raises:
        AuthorError: it cannot be read, or is not TOML.
    """
    try:
        text = read_text(path)
        return tomllib.loads(text), text.splitlines()
    except OSError as error:
        raise AuthorError(path, 0, f"cannot be read: {error.strerror}", missing_help) from error
    except tomllib.TOMLDecodeError as error:
        raise AuthorError(path, _line(error), f"is not TOML: {error}", "a line with backslashes stands in '...' or '''...'''") from error


def _line(error: tomllib.TOMLDecodeError) -> int:
    found = re.search(r"at line ([0-9]+)", str(error))
    return int(found[1]) if found else 0


def load_samples(grammar: Path, forms: bool = True) -> list[Sample]:
    """The samples beside a grammar file, in order; those of a message grammar name no form (``forms=False``).

    Raises:
        AuthorError: there is no samples file, or an entry lacks a key.
    """
    path = samples_path(grammar)
    data, text = load_toml(path, f"write {path.name} beside {grammar.name}, with a [[sample]] for every form")
    samples = []
    for kind in ("sample", "not"):
        numbers = (n for n, line in enumerate(text, 1) if line.strip() == f"[[{kind}]]")
        for entry in data.get(kind, []):
            number = next(numbers, 0)
            wanted = {"line"} if kind == "not" else {"line", "form", "fields"} if forms else {"line", "fields"}
            if set(entry) != wanted:
                raise AuthorError(path, number, f"[[{kind}]] has the keys {sorted(entry)}", f"it needs {', '.join(sorted(wanted))}, no more")
            samples.append(Sample(path, number, entry["line"], entry.get("form", "" if kind == "sample" else None), entry.get("fields", {})))
    return samples


def read_columns(forms: Iterable[Form], lines: Sequence[str]) -> list[dict[str, str] | None]:
    """Read lines with the compiled patterns in Rust; the first form that fits wins, as in the engine.

    Returns:
        for each line what :meth:`LineGrammar.parse` gives: columns and ``form``, or None.
    """
    import polars as pl

    column = pl.Series(lines, dtype=pl.String)
    read: list[dict[str, str] | None] = [None] * len(lines)
    for form in forms:
        fits = column.str.contains(form.pattern).to_list()
        rows = column.str.extract_groups(form.pattern).to_list() if form.columns else [{}] * len(lines)
        for n, row in enumerate(rows):
            if fits[n] and read[n] is None:
                read[n] = {"form": form.name} | {k: v for k, v in row.items() if v is not None}
    return read


def check(path: Path, imports: Path | None = None) -> LineGrammar:
    """Load a line grammar and hold it to its samples.

    Args:
        path: the ``.lark`` file.
        imports: folder of ``terminals.lark``; the shipped one by default.

    Raises:
        AuthorError: with the place, the reason and what to do.
    """
    grammar = LineGrammar(path, imports or data_folder("grammars"))
    samples = load_samples(path)
    shown = {sample.form for sample in samples}
    for form in grammar.forms:
        if form.name not in shown:
            raise AuthorError(samples_path(path), 0, f"form {form.name!r} has no sample", "add a [[sample]] with a real line of it")
    by_rust = read_columns(grammar.forms, [sample.line for sample in samples])
    for sample, rust in zip(samples, by_rust, strict=True):
        lark = grammar.parse(sample.line)
        if lark != rust:
            raise sample.wrong(f"Lark reads {lark}, the compiled pattern reads {rust}",
                               "give the terminal that must win a priority (NAME.1: ...), or put the forms into two files")
        if sample.form is None:
            if lark is not None:
                raise sample.wrong(f"must be refused, but is read as {lark}", "make the form narrower")
        elif lark is None:
            raise sample.wrong(f"is not read: {grammar.explain(sample.line)}", f"mend form {sample.form!r} or the sample")
        elif lark != (wanted := {"form": sample.form, **sample.fields}):
            raise sample.wrong(f"read as {lark}, the sample says {wanted}", "mend the grammar or the sample")
    return grammar


def check_message(path: Path) -> MessageGrammar:
    """Load a message grammar and hold it to its samples.

    Raises:
        AuthorError: with the place, the reason and what to do.
    """
    grammar = MessageGrammar.open(path)
    grammar.dump()
    samples = load_samples(path, forms=False)
    if not any(sample.form is not None for sample in samples):
        raise AuthorError(samples_path(path), 0, "there is no sample", "add a [[sample]] with a real text and all that is read from it")
    for sample in samples:
        read = grammar.parse(sample.line)
        if sample.form is None:
            if read is not None:
                raise sample.wrong(f"must be refused, but is read as {read}", "make the grammar narrower")
        elif read is None:
            raise sample.wrong("is not read", "mend the grammar, its @prefilter and @from, or the sample")
        elif read != sample.fields:
            raise sample.wrong(f"read as {read}, the sample says {sample.fields}", "mend the grammar or the sample")
    return grammar
