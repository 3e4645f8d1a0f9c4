"""``k3logs batch``: many incidents."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import click

from k3logs.cli import common

FLUSH_ROWS = 50
FLUSH_SECONDS = 20.0


@click.command(epilog="Exit status: 0 all incidents done, 1 some errored (their rows say why), 2 unusable input or usage.")
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, metavar="OUT", type=click.Path(file_okay=False, path_type=Path), help="Folder for verdict-*.parquet.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes that work side by side.")
@common.grammars_option
@common.signatures_option
def command(folders: tuple[Path, ...], output: Path, workers: int, grammars: tuple[Path, ...], signatures: tuple[Path, ...]) -> int:
    """Triage many incidents into a folder of Parquet, one row per incident.

    Each subfolder, archive or file in DIR is one incident. Those that OUT already has a verdict for are skipped, unless
    their size or time of change differs; so a run that was stopped goes on where it was.

    \b
    Examples:
      k3logs batch incidents/ -o verdicts/
      k3logs batch 2026-07/ 2026-08/ -o verdicts/ --workers 8
    """
    from k3logs.batch.incidents import incidents
    from k3logs.batch.run import run, triage_one
    from k3logs.batch.store import Store
    from k3logs.cli.progress import Progress
    from k3logs.reports.words import counted

    work = partial(triage_one, grammars=grammars, signatures=signatures)
    found = incidents(folders, output)
    store = Store(output)
    done = store.done()
    todo = [incident for incident in found if incident.key not in done]
    rows: list[dict[str, object]] = []
    count = errors = 0
    flushed = time.monotonic()
    try:
        with Progress("batch") as progress:
            for row in run(todo, min(workers, max(1, len(todo))), work):
                rows.append(row)
                count += 1
                errors += row["error"] is not None
                if len(rows) >= FLUSH_ROWS or time.monotonic() - flushed > FLUSH_SECONDS:
                    store.add(rows)
                    rows, flushed = [], time.monotonic()
                progress.say(f"{count} of {counted(len(todo), 'incident')}, {errors} errored")
    finally:
        store.add(rows)
        store.close()
    skipped = f", {len(found) - len(todo)} were done before" if len(found) > len(todo) else ""
    common.say(f"k3logs: {counted(count, 'incident')} done{skipped}, {errors} errored; {output}")
    return 1 if errors else 0
