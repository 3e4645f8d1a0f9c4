"""``k3logs parse``: the event table."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from k3logs.cli import common
from k3logs.errors import InputError
from k3logs.reports.safe import one_line
from k3logs.sinks import SINKS, sink


@click.command(epilog="Exit status: 0, or 2 where nothing could be read or written.")
@common.sources_argument
@click.option("--format", "format_name", type=click.Choice(list(SINKS)), help="What to write; by default what the name of -o FILE says, else ndjson.")
@common.output_option
@common.zone_option
@common.grammars_option
@common.signatures_option
def command(sources: tuple[str, ...], format_name: str | None, output: str | None, zone: str | None, grammars: tuple[Path, ...],
            signatures: tuple[Path, ...]) -> int:  # fmt: skip
    """Write the event table: one row per log line, with typed columns (see k3logs schema).

    Secrets are masked in every text. Memory does not grow with the log.

    \b
    Examples:
      k3logs parse node1.log node2.log -o events.parquet
      docker logs --timestamps kimi-k3 2>&1 | k3logs parse | jq -r 'select(.level == "ERROR") | .message'
      k3logs parse incident/ --format csv -o events.csv
    """
    from k3logs.cli.progress import Progress
    from k3logs.clocks.window import Window
    from k3logs.read import iter_frames
    from k3logs.triage import Options

    given = common.given_sources(sources, "parse", output)
    chosen = sink(format_name or common.format_of(output, {name: name for name in SINKS} | {"jsonl": "ndjson"}, "ndjson"))
    if chosen.binary and output in common.STANDARD_OUTPUT and sys.stdout is not None and sys.stdout.isatty():
        raise InputError(f"{chosen.extension} is not for a terminal", f"name a file: -o events.{chosen.extension}")
    notices: list[str] = []
    with common.writing(output) as out, Progress("reading") as progress:
        chosen.write(iter_frames(given, options=Options(grammars, signatures, Window.of(zone)), progress=progress, notices=notices), out)
    for notice in notices:
        common.say(f"k3logs: {one_line(notice, 400)}")
    return 0
