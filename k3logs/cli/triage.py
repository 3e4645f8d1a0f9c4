"""``k3logs triage``: the verdict."""

from __future__ import annotations

from pathlib import Path

import click

from k3logs.cli import common
from k3logs.reports import REPORTS, extensions, renderer


@click.command(epilog="Exit status: 0 no failure found, 1 failure found, 2 unusable input or usage, 3 inconclusive.")
@common.sources_argument
@click.option("--format", "format_name", type=click.Choice(list(REPORTS)), help="What to write; by default what the name of -o FILE says, else text.")
@common.output_option
@common.zone_option
@click.option("--since", metavar="TIME", help="Leave out failures before TIME: 2026-08-05T12:00:00, in the zone of --tz, else UTC.")
@click.option("--until", metavar="TIME", help="Leave out failures after TIME.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 whatever the outcome, for scripts that read the JSON.")
@click.option("--no-color", is_flag=True, help="No colour, even on a terminal (also: NO_COLOR=1).")
@common.grammars_option
@common.signatures_option
def command(sources: tuple[str, ...], format_name: str | None, output: str | None, zone: str | None, since: str | None, until: str | None, exit_zero: bool, no_color: bool,
            grammars: tuple[Path, ...], signatures: tuple[Path, ...]) -> int:  # fmt: skip
    """Name the rank that failed first, with which message, in which phase, and what to do next.

    A SOURCE is a log file, a folder of logs (one file per node, rank or container), an archive (tar, zip) or a
    compressed file (gz, zst, xz, bz2), or - for standard input, which is also read when something is piped in.

    \b
    Examples:
      docker logs --timestamps kimi-k3 2>&1 | k3logs triage
      kubectl logs --timestamps pod/vllm-0 | k3logs triage --format json
      k3logs triage node1.log node2.log.gz
      k3logs triage incident/ -o ticket.md
      k3logs triage node1.log --tz Europe/Berlin --since 2026-08-05T12:00 --until 2026-08-05T14:00
    """
    from k3logs.cli.progress import Progress
    from k3logs.clocks.window import Window
    from k3logs.triage import Options, triage

    given = common.given_sources(sources, "triage", output)
    options = Options(grammars, signatures, Window.of(zone, since, until))
    name = format_name or common.format_of(output, extensions(), "text")
    with common.writing(output) as out:
        with Progress("reading") as progress:
            verdict = triage(given, options=options, progress=progress)
        look = common.look(color=not no_color, to_file=output is not None)
        out.write(common.encoded(renderer(name).render(verdict, look), output))
    return 0 if exit_zero else verdict.exit_status
