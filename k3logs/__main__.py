"""``python -m k3logs`` and the ``k3logs`` command: runs it and turns every end into an exit status.

0, 1, 2 and 3 as ``k3logs triage --help`` says, 130 when interrupted, 0 when the reader of the output went away.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence

from k3logs.errors import InputError, K3LogsError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's own threads wait busily for work that never comes
    signal.signal(signal.SIGTERM, _terminated)
    gc.set_threshold(200_000, 50, 100)  # a run makes many objects and few cycles: looking for these often costs a tenth of it
    status = run(list(sys.argv[1:] if argv is None else argv))
    gc.freeze()
    sys.exit(status)


def _terminated(number: int, frame: object) -> None:
    """Told to end: what was begun is taken back on the way out, as after an interrupt."""
    raise SystemExit(128 + number)


def run(argv: list[str]) -> int:
    """Run the command line.

    Returns:
        the exit status; messages about errors are on standard error.
    """
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except InputError as error:  # standard output failed when it was flushed at an end
        return _say(str(error), error.exit_status)


def _run(argv: list[str]) -> int:
    import click

    from k3logs.cli import cli

    if "_K3LOGS_COMPLETE" in os.environ:
        cli.main(args=argv, prog_name="k3logs")
    try:
        # Not cli.main(): that exits 1 when the reader goes away, and 1 means "failure found" here.
        with cli.make_context("k3logs", argv) as context:
            status = cli.invoke(context)
        _flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as end:
        return _flush() or end.exit_code
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError" and error.ctx is not None:  # click 8.2 up
            click.echo(error.ctx.get_help(), err=True)
            return 2
        command = error.ctx.command_path if error.ctx else "k3logs"
        return _say(f"{error.format_message().rstrip('.')} (see {command} --help)", 2)
    except click.ClickException as error:
        return _say(error.format_message(), 2)
    except BrokenPipeError:
        return _gone()
    except click.Abort:
        return _say("interrupted", 130)
    except K3LogsError as error:
        return _say(str(error), error.exit_status)
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            return _internal(error)
        _silence()
        return _say(f"cannot write: {error.strerror}", 2)
    except Exception as error:  # noqa: BLE001 - Python's own status for it is 1, which means "failure found"
        return _internal(error)


def _internal(error: Exception) -> int:
    if os.environ.get("K3LOGS_DEBUG"):
        raise error
    return _say(f"internal error, {type(error).__name__}: {error} (set K3LOGS_DEBUG=1 for the traceback, and please report it)", 2)


def _say(text: str, status: int) -> int:
    if sys.stderr is None:
        return status
    from k3logs.redact import mask

    try:
        text = mask(text)
        line = text if text.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
        print(f"k3logs: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass
    return status


def _flush() -> int:
    """Write out what is buffered while errors can still be told."""
    if sys.stdout is None:
        return 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _gone()
    except OSError as error:
        _silence()
        raise InputError(f"cannot write standard output: {error.strerror}", "make room, or name a file with -o") from error
    return 0


def _gone() -> int:
    _silence()
    return 0


def _silence() -> None:
    """Keep Python from flushing a dead standard output once more on its way out."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:
        pass


if __name__ == "__main__":
    main()
