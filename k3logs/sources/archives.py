"""Members of tar and zip archives as logs, each opened on its own; a damaged archive is read as far as it goes."""

from __future__ import annotations

import io
import os
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, BinaryIO

from k3logs.sources.compressed import unpacked_member

Open = Callable[[], BinaryIO]

_MEMBER = b"PK\x03\x04"
_HEADER = struct.Struct("<4s5H3I2H")


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
        lost(f"not a whole archive, its members are read in the order in which they lie there ({error})")
        yield from _lying(opened())
        return
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename, lambda member=member: archive.open(member)  # type: ignore[misc]


def _lying(file: BinaryIO) -> Iterator[tuple[str, Open]]:
    """Members of a zip whose list, which stands at its end, is gone (APPNOTE.TXT 4.3.7: a header before each)."""
    if not isinstance(file, io.FileIO):
        return
    at, end = 0, file.seek(0, io.SEEK_END)
    while (head := os.pread(file.fileno(), _HEADER.size, at))[:4] == _MEMBER and len(head) == _HEADER.size:
        _, _, flags, method, _, _, _, size, _, letters, extra = _HEADER.unpack(head)
        name = os.pread(file.fileno(), letters, at + _HEADER.size).decode("utf-8" if flags & 0x800 else "cp437", "replace")
        start = at + _HEADER.size + letters + extra
        at = start + size if size not in (0, 0xFFFFFFFF) else _next_member(file, start, end)
        if not name.endswith("/") and method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and not flags & 1:
            part: Open = partial(_Part, file, start, at - start)  # type: ignore[assignment]
            yield name, partial(unpacked_member, part) if method else part


def _next_member(file: io.FileIO, at: int, end: int) -> int:
    """Where the next member begins, or the list of them; ``end`` where neither follows."""
    while at < end:
        data = os.pread(file.fileno(), 1 << 20, at)
        found = [place for mark in (_MEMBER, b"PK\x01\x02") if (place := data.find(mark)) >= 0]
        if found:
            return at + min(found)
        at += max(len(data) - 3, 1)
    return end


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

