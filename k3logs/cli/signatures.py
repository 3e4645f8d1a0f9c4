"""``k3logs signatures``: which there are, and whether a folder of them holds."""

from __future__ import annotations

from pathlib import Path

import click

from k3logs.cli import common
from k3logs.cli.table import aligned
from k3logs.errors import InputError


@click.group(epilog=common.OK_OR_2)
def command() -> None:
    """List the known failure texts, or check your own.

    \b
    Examples:
      k3logs signatures list
      k3logs signatures test my-signatures/
    """


@command.command("list", epilog=common.OK_OR_2)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@common.signatures_option
def list_(words: tuple[str, ...], signatures: tuple[Path, ...]) -> None:
    """List every signature, or those whose id, title or category holds each WORD.

    \b
    Examples:
      k3logs signatures list
      k3logs signatures list nccl network
    """
    from k3logs.signatures.catalog import Catalog

    rows = [("id", "role", "category", "status", "title")]
    for s in Catalog.load(signatures).signatures:
        row = (s.id, s.role, s.category, s.status, s.title)
        if all(word.lower() in " ".join(row).lower() for word in words):
            rows.append(row)
    with common.writing(None) as out:
        out.write(common.encoded(aligned(rows) if len(rows) > 1 else "no signature holds these words\n", None))


@command.command(epilog=common.OK_OR_2)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
def test(folder: Path) -> None:
    """Check the signatures in DIR: their fields, patterns and samples, beside those that ship.

    The first file to mend is named with its line, and the exit status is 2.

    \b
    Example:
      k3logs signatures test my-signatures/
    """
    from k3logs.reports.words import counted
    from k3logs.signatures.catalog import Catalog

    both = Catalog.load([folder])
    own = [s for s in both.signatures if Path(s.path).is_relative_to(folder)]
    if not own:
        raise InputError(f"{folder} holds no signature", "signatures are files NAME.toml in it; CONTRIBUTING.md has the recipe")
    samples = sum(len(s.samples) for s in own)
    refused = sum(len(s.not_samples) for s in own)
    holds = "holds" if len(own) == 1 else "hold"
    told = f"{counted(samples, 'sample')} claimed, {counted(refused, 'near miss', 'near misses')} refused"
    common.say(f"k3logs: {counted(len(own), 'signature')} {holds} beside {len(both) - len(own)}: {told}")
