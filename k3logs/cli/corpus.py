"""``k3logs corpus``: the labelled incidents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from k3logs.cli import common

if TYPE_CHECKING:
    from k3logs.batch.corpus import Checked

_EXIT = "Exit status: 0 all right, 1 a verdict misses its truth or differs from the accepted one, 2 unusable input or usage."

_folder = click.option("--dir", "root", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another corpus than the one that ships.")


@click.group(invoke_without_command=True, epilog=_EXIT)
@click.pass_context
def command(context: click.Context) -> int:
    """Check the labelled incidents against their truth, and accept their verdicts.

    \b
    Examples:
      k3logs corpus
      k3logs corpus check xid-79
      k3logs corpus accept xid-79
    """
    return 0 if context.invoked_subcommand else _run((), None, accept=False)


@command.command(epilog=_EXIT)
@click.argument("slugs", nargs=-1, metavar="[SLUG]...")
@_folder
def check(slugs: tuple[str, ...], root: Path | None) -> int:
    """Triage every labelled incident; show what misses its truth and what differs from expected.json.

    \b
    Example:
      k3logs corpus check xid-79
    """
    return _run(slugs, root, accept=False)


@command.command(epilog=_EXIT)
@click.argument("slugs", nargs=-1, metavar="[SLUG]...")
@_folder
def accept(slugs: tuple[str, ...], root: Path | None) -> int:
    """Show the differences, then write the verdicts of today as expected.json.

    A verdict that misses its truth is not written.

    \b
    Example:
      k3logs corpus accept xid-79
    """
    return _run(slugs, root, accept=True)


def _run(slugs: tuple[str, ...], root: Path | None, *, accept: bool) -> int:
    from k3logs.batch.corpus import GOLDEN, labelled
    from k3logs.batch.corpus import check as check_all
    from k3logs.paths import data_folder
    from k3logs.reports.words import counted
    from k3logs.sinks.atomic import replacing

    incidents = labelled(root or data_folder("corpus"), slugs)
    wrong = 0
    for checked in check_all(incidents):
        writes = accept and not checked.misses and not checked.right
        with common.writing(None) as out:
            out.write(common.encoded(_shown(checked, accepted=writes), None))
        if writes:
            with replacing(checked.incident.folder / GOLDEN) as file:
                file.write(checked.text.encode())
        wrong += not (checked.right or writes)
    common.say(f"k3logs: {counted(len(incidents), 'incident')}, {len(incidents) - wrong} right")
    return 1 if wrong else 0


def _shown(checked: Checked, *, accepted: bool) -> str:
    slug = checked.incident.slug
    if checked.right:
        return f"right    {slug}\n"
    rows = [f"missed   {slug}: {miss}" for miss in checked.misses]
    rows += checked.difference
    if accepted:
        rows.append(f"accepted {slug}")
    elif checked.accepted is None:
        rows.append(f"new      {slug}: no expected.json yet (k3logs corpus accept {slug})")
    elif not checked.accepted:
        rows.append(f"changed  {slug}: differs from expected.json (k3logs corpus accept {slug})")
    return "".join(f"{row}\n" for row in rows)
