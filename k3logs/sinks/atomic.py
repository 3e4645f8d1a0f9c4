"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from k3logs.errors import InputError

_STREAMS = ("/dev/std", "/dev/fd/", "/proc/self/fd/")


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open ``path`` for writing; what was there before stays until the block ends without an error.

    A device or a pipe (``/dev/stdout``) is written directly, a link's target is replaced and not the link.

    Raises:
        InputError: the file cannot be written; nothing half written is left.
    """
    target = Path(os.path.realpath(path))
    try:
        if str(path).startswith(_STREAMS):  # what a shell has opened is written to, not replaced
            with open(path, "ab") as stream:
                yield stream
            return
        if target.is_dir():
            raise InputError(f"cannot write {path}: it is a folder", "name a file with -o")
        if target.exists() and not target.is_file():
            with target.open("wb") as device:
                yield device
            return
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        handle, aside = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(aside, mode)
        os.replace(aside, target)
    except BaseException as error:
        Path(aside).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise _cannot(path, error) from error
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot(path: str | Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}", "choose a folder that exists and can be written, with room for it")
