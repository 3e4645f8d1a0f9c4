"""Members of tar and zip archives as logs, each opened on its own; a damaged archive is read as far as it goes."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, BinaryIO

TAR_HEAD = 512
"""Bytes of a tar's first header, at least."""

Open = Callable[[], BinaryIO]


def is_tar(head: bytes) -> bool:
    """Whether data that begins so is a tar archive (POSIX or GNU)."""
    return head[257:262] == b"ustar"


def is_zip(head: bytes) -> bool:
    """Whether data that begins so is a zip archive."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def zip_members(opened: Open, lost: Callable[[str], None]) -> Iterator[tuple[str, Open]]:
    """Name and opener of each member of the zip; ``lost`` is told where there is nothing to list."""
    try:
        archive = zipfile.ZipFile(opened())  # kept open by those who open its members
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        lost(f"not a whole archive ({error})")
        return
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename, lambda member=member: archive.open(member)  # type: ignore[misc]


def tar_members(opened: Open, lost: Callable[[str], None]) -> Iterator[tuple[str, Open]]:
    """Name and opener of each member of a tar; a compressed one is unpacked to a temporary file first, once for all members."""
    file = opened()
    plain = file if isinstance(file, io.FileIO) else _spooled(file)
    try:
        with tarfile.open(fileobj=plain, mode="r:") as tar:
            while (member := _next(tar, lost)) is not None:
                if member.isfile():
                    yield member.name, lambda at=member.offset_data, size=member.size: _Part(plain, at, size)  # type: ignore[misc]
    except (tarfile.TarError, OSError, ValueError) as error:
        lost(f"not a whole archive ({error})")


def _next(tar: tarfile.TarFile, lost: Callable[[str], None]) -> tarfile.TarInfo | None:
    try:
        return tar.next()
    except (tarfile.TarError, OSError, ValueError, EOFError) as error:
        lost(f"not a whole archive ({error})")
        return None


def _spooled(stream: BinaryIO) -> IO[bytes]:
    file = tempfile.TemporaryFile(buffering=0)
    while data := stream.read(1 << 20):
        file.write(data)
    file.seek(0)
    return file


class _Part(io.RawIOBase):
    """A part of a file that others read, too."""

    def __init__(self, file: IO[bytes], at: int, size: int) -> None:
        self._file = file  # kept open: a temporary one goes when it is closed
        self._at = at
        self._end = at + size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes.

        Raises:
            EOFError: the archive ends within the part.
        """
        wanted = self._end - self._at if size < 0 else min(size, self._end - self._at)
        data = os.pread(self._file.fileno(), wanted, self._at) if wanted else b""
        if wanted and not data:
            raise EOFError("the archive is cut short")
        self._at += len(data)
        return data

