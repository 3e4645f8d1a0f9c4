"""Text in UTF-16 or UTF-32, as Windows' shells write it, and UTF-8 with a byte order mark, as plain UTF-8."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from typing import BinaryIO

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
"""Byte order marks; UTF-32's little one begins with UTF-16's."""

LONGEST_MARK = 4


def coding(head: bytes) -> str | None:
    """The coding that a byte order mark tells, None where there is none."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


class Recoded(io.RawIOBase):
    """A stream in another coding as UTF-8; what cannot be decoded becomes ``?``."""

    def __init__(self, inner: BinaryIO, name: str) -> None:
        self._inner = inner
        self._decoder = codecs.getincrementaldecoder(name)("replace")
        self._left = memoryview(b"")
        self._ended = False
        self._begun = False

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill ``buffer``; 0 at the end."""
        while not self._left and not self._ended:
            data = self._inner.read(1 << 18) or b""
            self._ended = not data
            text = self._decoder.decode(data, self._ended)
            if text and not self._begun:
                self._begun, text = True, text.removeprefix("\ufeff")
            self._left = memoryview(text.encode("utf-8", "replace"))
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        """Close both."""
        self._inner.close()
        super().close()


def recoded(opened: Callable[[], BinaryIO], name: str) -> Callable[[], BinaryIO]:
    """How to open a stream in the coding ``name`` as UTF-8."""
    return lambda: Recoded(opened(), name)  # type: ignore[return-value]
