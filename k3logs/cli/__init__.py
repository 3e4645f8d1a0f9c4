"""The command line: one module per command, imported when that command is used."""

from __future__ import annotations

from importlib import import_module

import click

from k3logs import __version__

COMMANDS = {
    "triage": "Name the rank that failed first, why, and what to do.",
    "parse": "Write the event table: one row per log line.",
    "explain": "Explain a signature, or how one line was read.",
    "batch": "Triage many incidents into a folder of Parquet.",
    "schema": "Describe the columns of the event table.",
    "grammars": "List the grammars, or test them on a line or file.",
    "signatures": "List the known failure texts, or check your own.",
    "corpus": "Check the labelled incidents against their truth.",
}
"""Name -> what it does; ``k3logs/cli/NAME.py`` holds the command, as ``command``."""


class Commands(click.Group):
    """A group that knows its commands by name and imports only the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"k3logs.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; where there is no such command, one that a file may have been meant for."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from pathlib import Path

            if Path(args[0]).exists():
                raise click.UsageError(f"{args[0]!r} is no command; for a log write: k3logs triage {args[0]}", ctx) from error
            from difflib import get_close_matches

            near = get_close_matches(args[0].lower(), COMMANDS, 1, 0.5)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(COMMANDS)}"
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="k3logs %(version)s")
def cli() -> None:
    """Which rank failed first? k3logs reads the logs of a distributed vLLM deployment and says which rank
    failed first, with which message, in which phase, and what to do next.

    \b
    Examples:
      docker logs --timestamps kimi-k3 2>&1 | k3logs triage
      k3logs triage node1.log node2.log
      k3logs triage incident-2026-08-05/ --format markdown -o ticket.md

    Shell completion (bash; zsh and fish alike):

    \b
      eval "$(_K3LOGS_COMPLETE=bash_source k3logs)"
    """
