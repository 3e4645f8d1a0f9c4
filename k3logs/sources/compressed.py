"""Compressed files as plain byte streams; one that was cut short is read up to the cut."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol

MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2"}
Notice = Callable[[str], None]


def kind(path: Path) -> str | None:
    """The compression of a file by its first bytes, None where it is plain."""
    with path.open("rb") as file:
        start = file.read(6)
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)


class Reader(Protocol):
    """What is read here: anything that gives out bytes."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, none at the end."""
        ...


class Forgiving(io.RawIOBase):
    """A reader that ends, with a notice, where the data behind it can no longer be decompressed."""

    def __init__(self, inner: Reader, broken: Notice) -> None:
        self._inner = inner
        self._broken = broken
        self._ended = False

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill ``buffer``; 0 at the end, and where the data is broken."""
        if self._ended:
            return 0
        try:
            data = self._inner.read(len(buffer))
        except Exception as error:  # noqa: BLE001 - each library has its own error for a damaged file
            self._ended = True
            self._broken(f"{type(error).__name__}: {error}")
            return 0
        buffer[: len(data)] = data
        return len(data)


def opener(path: Path, compression: str | None, broken: Notice) -> Callable[[], BinaryIO]:
    """How to open a file as plain bytes.

    Args:
        broken: called with the reason when the data ends before its time.
    """

    def plain() -> BinaryIO:
        return path.open("rb", buffering=0)

    def unpack() -> BinaryIO:
        inner: Reader
        if compression == "gz":
            inner = _Gzip(path.open("rb"))
        elif compression == "zst":
            import zstandard

            inner = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
        elif compression == "xz":
            import lzma

            inner = lzma.open(path, "rb")
        else:
            import bz2

            inner = bz2.open(path, "rb")
        return Forgiving(inner, broken)  # type: ignore[return-value]

    return plain if compression is None else unpack


class _Gzip:
    """gzip members one after the other, given out as far as they can be read (``gzip`` drops a cut block)."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._engine = zlib.decompressobj(31)
        self._left = b""

    def read(self, size: int) -> bytes:
        while True:
            if self._engine.eof:
                self._left = self._engine.unused_data.lstrip(b"\0") or self._file.read(1 << 18).lstrip(b"\0")
                if not self._left:
                    return b""
                self._engine = zlib.decompressobj(31)
            else:
                self._left = self._engine.unconsumed_tail or self._file.read(1 << 18)
                if not self._left:
                    raise EOFError("the compressed data is cut short")
            data = self._engine.decompress(self._left, size)
            if data:
                return data
