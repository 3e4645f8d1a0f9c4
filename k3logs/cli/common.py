"""Options that several commands share, and how they write."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click

from k3logs.errors import InputError
from k3logs.redact import mask
from k3logs.reports.base import Look

STANDARD_OUTPUT = (None, "-", "/dev/stdout")

OK_OR_2 = "Exit status: 0, or 2 where the input or the command cannot be used: one line on standard error says why, and what to do."

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def _files(*_: Any) -> list[Any]:
    """Lets the shell complete names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem("", type="file")]


def sources_argument(function: F) -> F:
    """``[SOURCE...]``: files, folders, archives, or ``-``."""
    return click.argument("sources", nargs=-1, metavar="[SOURCE]...", shell_complete=_files)(function)


def grammars_option(function: F) -> F:
    """``--grammars DIR``."""
    return click.option("--grammars", multiple=True, type=_FOLDER, metavar="DIR", help="More grammars: a folder with envelopes/ and dialects/.")(function)


def signatures_option(function: F) -> F:
    """``--signatures DIR``."""
    return click.option("--signatures", multiple=True, type=_FOLDER, metavar="DIR", help="More signatures: a folder of .toml files.")(function)


def zone_option(function: F) -> F:
    """``--tz ZONE``."""
    return click.option("--tz", "zone", metavar="ZONE", help="Zone of stamps that name none: +02:00, Europe/Berlin; by default what the log tells, else UTC.")(function)


def output_option(function: F) -> F:
    """``-o FILE``."""
    return click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output; whole or not at all.")(function)


def given_sources(sources: tuple[str, ...], command: str, output: str | None = None) -> list[str]:
    """The sources to read: those given, else standard input when something is piped into it.

    Raises:
        InputError: neither, or ``output`` is one of them.
    """
    if output is not None and any(source != "-" and Path(source).exists() and Path(output).exists() and Path(source).samefile(output) for source in sources):
        raise InputError(f"{output} is the log itself and would be overwritten", "give -o another name")
    if sources:
        if "-" in sources and sys.stdin is None:
            raise InputError("standard input is closed", "name a log file, a folder or an archive")
        return list(sources)
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("nothing to read", f"pipe a log in (docker logs --timestamps NAME 2>&1 | k3logs {command}) or name files: k3logs {command} FILE...")
    return ["-"]


def format_of(output: str | None, extensions: Mapping[str, str], default: str) -> str:
    """The format that an output's name asks for.

    Args:
        extensions: without the dot -> format name.
        default: for standard output, a device, or a name without extension.

    Raises:
        InputError: an extension that no format has.
    """
    end = Path(output).suffix if output and not output.startswith("/dev/") else ""
    if not end:
        return default
    name = extensions.get(end[1:].lower())
    if name is None:
        raise InputError(f"no format is written to {end} files", f"end the name with {', '.join(f'.{known}' for known in extensions)}, or add --format")
    return name


def look(*, color: bool, to_file: bool) -> Look:
    """How a report may look where it goes: NO_COLOR and FORCE_COLOR are kept, a file gets no colour."""
    terminal = sys.stdout is not None and sys.stdout.isatty() and not to_file
    wanted = terminal and os.environ.get("TERM") != "dumb"
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0") and not to_file:
        wanted = True
    if os.environ.get("NO_COLOR") or not color:
        wanted = False
    columns = os.get_terminal_size(sys.stdout.fileno()).columns if terminal else 100
    return Look(wanted, min(max(columns, 60), 100))


@contextmanager
def writing(path: str | None) -> Iterator[BinaryIO]:
    """Standard output as bytes, or the file at ``path``, which appears only when the block ends well.

    Raises:
        InputError: it cannot be written.
    """
    if path not in STANDARD_OUTPUT:
        from k3logs.sinks.atomic import replacing

        with replacing(str(path)) as file:
            yield file
        return
    if sys.stdout is None:
        raise InputError("standard output is closed", "name a file with -o")
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer must not fail again when Python ends
        raise InputError(f"cannot write standard output: {error.strerror or error}", "make room, or name a file with -o") from error


def encoded(text: str, path: str | None) -> bytes:
    """``text`` for a file (UTF-8) or for the terminal's encoding, with escapes for what that lacks."""
    encoding = "utf-8" if path is not None or sys.stdout is None else sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace")


def say(text: str) -> None:
    """A remark on standard error, where it does not mix with data."""
    if sys.stderr is not None:
        click.echo(mask(text), err=True)
