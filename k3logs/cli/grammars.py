"""``k3logs grammars``: which there are, and how they read a line or a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from k3logs.cli import common
from k3logs.cli.table import aligned
from k3logs.errors import InputError

MOST_BYTES = 64 << 20
MOST_UNREAD = 5


@click.group(epilog=common.OK_OR_2)
def command() -> None:
    """List the grammars, or test them on a line or file.

    \b
    Examples:
      k3logs grammars list
      k3logs grammars test '(Worker_TP1 pid=77) ERROR 08-05 12:00:02 [core.py:9] failed'
      k3logs grammars test node2.log --grammars my-grammars/
    """


@command.command("list", epilog=common.OK_OR_2)
@common.grammars_option
def list_(grammars: tuple[Path, ...]) -> None:
    """List every grammar: its forms, and what its header says it reads.

    \b
    Example:
      k3logs grammars list
    """
    from k3logs.grammar.author import read_text
    from k3logs.paths import data_folder

    rows = [("kind", "grammar", "forms", "reads")]
    for root in (data_folder("grammars"), *grammars):
        for kind in ("envelopes", "dialects", "messages"):
            for file in sorted((root / kind).glob("*.lark")):
                text = read_text(file)
                comment = " ".join(line[2:].strip() for line in text.split("\n\n")[0].splitlines() if line.startswith("//") and "// @" not in line)
                rows.append((kind.removesuffix("s"), file.stem, str(text.count("->")) if kind != "messages" else "", comment.split(". ")[0][:160]))
    with common.writing(None) as out:
        out.write(common.encoded(aligned(rows), None))


@command.command(epilog=common.OK_OR_2)
@click.argument("what", metavar="LINE|FILE")
@common.grammars_option
def test(what: str, grammars: tuple[Path, ...]) -> None:
    """Show which form reads LINE and what is read, or count the forms that read FILE (- for standard input).

    Where no form reads the text, the grammars that went furthest say what they expected.

    \b
    Examples:
      k3logs grammars test '[rank3]: Traceback (most recent call last):'
      k3logs grammars test node2.log
    """
    from k3logs.cli import reading

    data, is_file = _data(what)
    text: list[str] = []
    if not is_file:
        for row in reading.readings(data, grammars):
            text.append(reading.shown(row))
            if not row.read:
                text += [f"  {line}\n" for line in reading.departures(row.message, grammars)]
    else:
        counts: Counter[str] = Counter()
        unread: list[reading.Reading] = []
        for row in reading.readings(data, grammars) if data else ():
            kind = " > ".join(row.forms) if row.read else "none, indented: goes on with the record before it" if row.goes_on else "none"
            counts[kind] += 1
            if not (row.read or row.goes_on) and row.message.strip() and len(unread) < MOST_UNREAD:
                unread.append(row)
        text.append(aligned([("lines", "forms"), *((f"{count:>5}", forms) for forms, count in counts.most_common())]))
        for row in unread:
            text.append(f"\nline {row.line}\n{reading.shown(row)}")
            text += [f"  {line}\n" for line in reading.departures(row.message, grammars)]
    with common.writing(None) as out:
        out.write(common.encoded("".join(text) or "no line in it\n", None))


def _data(what: str) -> tuple[bytes, bool]:
    from k3logs.sources.find import find

    try:
        is_file = what == "-" or (bool(what) and Path(what).exists())
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return what.encode("utf-8", "surrogateescape"), False
    found = find([what], [])
    if len(found) != 1:
        raise InputError(f"{what} holds {len(found)} logs", "test one file at a time")
    data = b""
    with found[0].open() as file:
        while len(data) < MOST_BYTES and (more := file.read(MOST_BYTES - len(data))):  # a pipe gives what it has
            data += more
    for notice in found[0].notices:
        common.say(f"k3logs: {notice}")
    if len(data) == MOST_BYTES:
        data = data[: data.rfind(b"\n") + 1 or None]
        common.say(f"k3logs: only the first {MOST_BYTES >> 20} MiB are tested")
    return data, True
