"""A folder of incidents: which there are, and when one has changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from k3logs.errors import InputError
from k3logs.redact import mask
from k3logs.sources.names import shown

_SKIPPED = {".parquet", ".arrow", ".part"}


@dataclass(frozen=True, slots=True)
class Incident:
    """One folder, archive or file of logs.

    Attributes:
        name: how it is called in the results: its name below the folder given.
        size: bytes of all its files.
        modified: time of the last change of any, ns since 1970.
    """

    name: str
    path: Path
    size: int
    modified: int

    @property
    def key(self) -> tuple[str, int, int]:
        """The same as long as nothing in it changed."""
        return (self.shown, self.size, self.modified)

    @property
    def shown(self) -> str:
        """The name without a secret in it, and with a hash for what was masked: two such names stay two."""
        text = shown(self.name)
        masked = mask(text)
        return masked if masked == text else f"{masked}~{hashlib.sha256(self.name.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def incidents(folders: Sequence[Path], out: Path) -> list[Incident]:
    """Every entry of the folders, in the order of names; hidden ones and the results themselves are left out.

    Raises:
        InputError: a folder that cannot be read, holds nothing, or shares its name and an incident's with another one.
    """
    found: dict[str, Incident] = {}
    for folder in folders:
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise InputError(f"cannot read folder {folder}: {error.strerror}", "give a folder that holds one entry per incident") from error
        for path in entries:
            if path.name.startswith(".") or path.suffix in _SKIPPED or path.resolve() == out.resolve():
                continue
            name = path.name if len(folders) == 1 else f"{folder.name}/{path.name}"
            if name in found:
                raise InputError(f"two incidents are called {name}: {found[name].path} and {path}", "run the folders into outputs of their own")
            found[name] = Incident(name, path, *_state(path))
    if not found:
        raise InputError(f"no incident in {', '.join(map(str, folders))}", "each subfolder, archive or file there is one incident")
    return list(found.values())


def _state(path: Path) -> tuple[int, int]:
    stats = [s for s in (_stat(file) for file in _files(path)) if s is not None]
    return sum(s.st_size for s in stats), max((s.st_mtime_ns for s in stats), default=0)


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path]
    return [Path(root, name) for root, _, names in os.walk(path) for name in names]


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
