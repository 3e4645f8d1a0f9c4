"""``k3logs schema``: the dictionary of the event table."""

from __future__ import annotations

import click

from k3logs.cli import common
from k3logs.cli.table import aligned


@click.command(epilog=common.OK_OR_2)
@click.option("--format", "format_name", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True, help="How to write it.")
def command(format_name: str) -> None:
    """Describe every column of the event table: type, meaning, and its name in OpenTelemetry and ECS.

    \b
    Examples:
      k3logs schema
      k3logs schema --format json | jq -r '.columns[].name'
    """
    from k3logs.schema import COLUMNS, VERSION

    rows = [(c.name, c.dtype, c.otel, c.ecs, c.meaning) for c in COLUMNS]
    head = ("column", "type", "OpenTelemetry", "ECS", "meaning")
    if format_name == "json":
        import json
        from dataclasses import asdict

        text = json.dumps({"version": VERSION, "columns": [asdict(c) for c in COLUMNS]}, indent=1) + "\n"
    elif format_name == "markdown":
        text = "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))
    else:
        text = aligned([head, *rows])
    with common.writing(None) as out:
        out.write(common.encoded(text, None))
