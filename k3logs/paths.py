"""Where the data that ships with k3logs lies: in the checkout, or in the wheel's copy of it."""

from __future__ import annotations

import os
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
