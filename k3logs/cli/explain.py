"""``k3logs explain``: a signature's page, or how one line was read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from k3logs.cli import common
from k3logs.errors import InputError
from k3logs.reports.safe import one_line

if TYPE_CHECKING:
    from k3logs.signatures.catalog import Catalog
    from k3logs.signatures.signature import Signature


@click.command(epilog=common.OK_OR_2)
@click.argument("what", metavar="ID|LINE")
@common.grammars_option
@common.signatures_option
def command(what: str, grammars: tuple[Path, ...], signatures: tuple[Path, ...]) -> None:
    """Explain a signature by its id, or show how a line was read and which signature it carries.

    \b
    Examples:
      k3logs explain NCCL001
      k3logs explain 'node-02:41:43 [3] NCCL WARN Call to ibv_create_qp failed'
    """
    from k3logs.signatures.catalog import Catalog

    if not what.strip():
        raise InputError("nothing to explain", "give the id of a signature (k3logs signatures list names them), or a log line in quotes")
    catalog = Catalog.load(signatures)
    found = catalog.by_id(what.strip().upper())
    if found is None and what.strip().isalnum():
        from difflib import get_close_matches

        ids = [s.id for s in catalog.signatures]
        near = [id for id in ids if id.startswith(what.strip().upper()[:3])] or get_close_matches(what.strip().upper(), ids, 8)
        raise InputError(f"no signature {what.strip()}", f"like it: {', '.join(near[:8])}" if near else "k3logs signatures list names them")
    text = "\n".join(page(found)) + "\n" if found else "\n".join(_line(what, grammars, catalog)) + "\n"
    with common.writing(None) as out:
        out.write(common.encoded(text, None))


def page(s: Signature) -> Iterator[str]:
    """All that is known of a signature, in the order in which it is needed."""
    yield f"{s.id}  {s.title}"
    condition = f" ({s.condition.replace('_', ' ')})" if s.condition else ""
    yield f"{s.role}{condition}, category {s.category}, {', '.join(s.phases) or 'any phase'}, status {s.status}"
    for title, text in (("What it says", s.explain.what), ("Why", s.explain.why), ("Where to look next", s.explain.next), ("When it is wrong", s.explain.false_positives)):
        if text:
            yield from ("", title, *_wrapped(text))
    for action in s.actions:
        yield from ("", "What to do", *_wrapped(action.do), *_wrapped(f"if: {action.when}"))
        yield from (f"  collect first: {one_line(command)}" for command in action.collect)
        yield from (line for reason in action.avoid for line in _wrapped(f"avoid: {reason}"))
    yield from ("", "For example")
    yield from (f"  {one_line(line, 300)}" for sample in s.samples[:2] for line in sample.line.splitlines()[:6])
    yield from ("", "References")
    yield from (f"  {reference}" for reference in (*s.references, *s.issues))
    if s.fixed_in:
        yield f"  fixed in {s.fixed_in}"
    if s.formerly:
        yield f"  formerly {', '.join(s.formerly)}"


def _line(text: str, grammars: tuple[Path, ...], catalog: Catalog) -> Iterator[str]:
    from k3logs.cli import reading
    from k3logs.signatures.match import claim

    for row in reading.readings(text.encode("utf-8", "surrogateescape"), grammars):
        yield reading.shown(row).rstrip("\n")
        if not row.read:
            yield from (f"  {line}" for line in reading.departures(row.message, grammars))
        id, fields = claim(catalog, row.message, level=row.fields.get("level", ""))
        signature = catalog.by_id(id) if id else None
        if signature is None:
            yield "  signature: none"
            continue
        read = "".join(f", {name} {one_line(value, 80)}" for name, value in fields.items())
        yield f"  signature: {signature.id} {signature.title}{read}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), 92, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
