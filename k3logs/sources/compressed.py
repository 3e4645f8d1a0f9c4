"""Compressed streams as plain bytes; one that was cut short or damaged is read up to there."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2"}
Notice = Callable[[str], None]
Open = Callable[[], BinaryIO]

_STEP = {"gz": 1 << 18, "deflate": 1 << 18, "xz": 1 << 16, "bz2": 1 << 16, "zst": 1 << 12}
"""Compressed bytes taken at a time; a block of zstd's may become 30,000 times as long, and what comes of a step is held."""

_ZLIB = {"gz": 31, "deflate": -15}
"""zlib's own window bits; ``deflate`` is what is inside a zip, one member alone."""

_MOST = 1 << 18
"""Plain bytes given out at a time: so much is lost, at most, before a damaged place."""


def kind(head: bytes) -> str | None:
    """The compression of what begins with these bytes, None where it is plain."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


class Reader(Protocol):
    """What is read here: anything that gives out bytes."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, none at the end."""
        ...


class Forgiving(io.RawIOBase):
    """A stream that ends, with a notice, where what is behind it cannot be opened or read any further."""

    def __init__(self, opened: Callable[[], Reader], broken: Notice) -> None:
        self._open = opened
        self._read: Callable[[int], bytes] | None = None
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
            if self._read is None:
                inner = self._open()
                self._read = getattr(inner, "read1", inner.read)  # read() of a damaged file loses what it had already
            data = self._read(min(len(buffer), _MOST))
        except Exception as error:  # noqa: BLE001 - each library has its own error for a damaged file
            self._ended = True
            self._broken(f"{type(error).__name__}: {error}")
            return 0
        buffer[: len(data)] = data
        return len(data)


def unpacked(raw: Open, compression: str, broken: Notice) -> Open:
    """How to open compressed data as plain bytes.

    Args:
        raw: opens it as it lies there.
        broken: called with the reason when the data ends before its time.
    """
    return lambda: Forgiving(lambda: _Members(raw(), compression), broken)  # type: ignore[return-value]


def _engine(compression: str) -> Any:
    if compression in _ZLIB:
        return zlib.decompressobj(_ZLIB[compression])
    if compression == "zst":
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj()
    if compression == "xz":
        import lzma

        return lzma.LZMADecompressor()
    import bz2

    return bz2.BZ2Decompressor()


class _Members(io.RawIOBase):
    """Compressed members one after the other, given out as far as they can be read (Python's own readers drop a cut block)."""

    def __init__(self, file: BinaryIO, compression: str) -> None:
        self._file = file
        self._kind = compression
        self._step = _STEP[compression]
        self._engine = _engine(compression)
        self._fed = False
        self._out = b""

    def read(self, size: int = _MOST) -> bytes:
        """At most ``size`` bytes."""
        while not self._out:
            if self._engine.eof and self._kind == "deflate":
                return b""
            if self._engine.eof:
                left = self._engine.unused_data.lstrip(b"\0") or (self._file.read(self._step) or b"").lstrip(b"\0")
                if not left:
                    return b""
                self._engine = _engine(self._kind)
                self._out = self._decompress(left, size)
                continue
            left = b""
            if self._kind in _ZLIB:
                left = self._engine.unconsumed_tail
            if not left and getattr(self._engine, "needs_input", True):
                left = self._file.read(self._step) or b""
                if not left and not self._fed:
                    return b""  # an empty file
                if not left:
                    raise EOFError("the compressed data is cut short")
            self._out = self._decompress(left, size)
        data, self._out = self._out[:size], self._out[size:]
        return data

    def _decompress(self, data: bytes, size: int) -> bytes:
        self._fed = True
        found: bytes = self._engine.decompress(data) if self._kind == "zst" else self._engine.decompress(data, size)
        return found


def unpacked_member(raw: Open) -> BinaryIO:
    """A deflated member of a zip, opened; raises where it is damaged or cut."""
    return _Members(raw(), "deflate")  # type: ignore[return-value]
