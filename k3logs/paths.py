"""Where the data that ships with k3logs lies: in the checkout, or in the wheel's copy of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder ``name`` (``grammars``, ``corpus``) of this checkout, else the copy inside the wheel.

    The checkout wins, so that an editable install never reads a stale copy.
    """
    checkout = PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    return PACKAGE / "_bundled" / name


def cache_folder() -> Path:
    """Folder for compiled grammars and catalogues (``$K3LOGS_CACHE``, else ``$XDG_CACHE_HOME/k3logs``)."""
    if given := os.environ.get("K3LOGS_CACHE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "k3logs"


_PART = ".part"
_STALE = 3600.0
_MOST = 24
_OURS = ("grammars-", "messages-", "signatures-")


def keep(path: Path, data: bytes) -> None:
    """Write a file of the cache in one step, and clear away what runs that were killed, and installations long gone, left in its folder.

    A folder that cannot be written is no error: a cache only saves time.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
        try:
            aside.write_bytes(data)
            os.replace(aside, path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        dated = sorted(((file.stat().st_mtime, file) for file in path.parent.iterdir() if file != path and file.name.lstrip(".").startswith(_OURS)), reverse=True)
        for n, (changed, file) in enumerate(dated):
            if changed < time.time() - _STALE if file.suffix == _PART else n >= _MOST:
                file.unlink(missing_ok=True)
    except OSError:
        return
