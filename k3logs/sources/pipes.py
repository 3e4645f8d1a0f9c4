"""Pipes: what comes first is looked at and put back, and what must be read twice is kept in a temporary file."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO

from k3logs.errors import InputError
from k3logs.sources.documents import HEAD

_ENOUGH = 6
"""Bytes that tell a compressed stream; a pipe is not waited on for more."""


def head_of(opened: Callable[[], BinaryIO]) -> bytes:
    """The first bytes of what ``opened`` opens; none of what is damaged."""
    try:
        with opened() as stream:
            head = b""
            while len(head) < HEAD and (data := stream.read(HEAD - len(head))):
                head += data
            return head
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - each library has its own error for a damaged file, which is told when it is read
        return b""


def _may_be_document(head: bytes) -> bool:
    """Whether more has to be seen of what begins as JSON: a record a line is told by its first line."""
    text = head.lstrip()
    if len(head) >= HEAD or not text.startswith((b"{", b"[")):
        return False
    return b"\n" not in text or len(text.split()) < 2


class Peeked(io.FileIO):
    """A file descriptor of which ``head`` was looked at and is read again."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle, closefd=False)
        if self.seekable():
            self.head, self._left = os.pread(handle, HEAD, os.lseek(handle, 0, os.SEEK_CUR)), b""
            return
        head = data = b""
        while (len(head) < _ENOUGH or _may_be_document(head)) and (data := os.read(handle, HEAD - len(head))):
            head += data
        self.head = self._left = head

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer``; 0 at the end."""
        if not self._left:
            return super().readinto(buffer) or 0
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def read(self, size: int | None = -1, /) -> bytes:
        """At most ``size`` bytes, all by default."""
        if not self._left:
            return super().read(-1 if size is None else size) or b""
        head, self._left = (self._left, b"") if size is None or size < 0 else (self._left[:size], self._left[size:])
        return head + super().readall() if size is None or size < 0 else head


def spooled(stream: BinaryIO) -> Callable[[], BinaryIO]:
    """How to open what comes through a pipe, any number of times: it lies in a file without a name, which goes when this goes.

    Raises:
        InputError: there is no room for it.
    """
    file = tempfile.TemporaryFile()
    with stream:
        try:
            shutil.copyfileobj(stream, file, 1 << 20)
            file.flush()
        except OSError as error:
            raise InputError(f"cannot keep a pipe aside: {error.strerror or error}", "set TMPDIR to a folder with room, or give a file") from error

    def opened() -> BinaryIO:
        handle = os.dup(file.fileno())
        os.lseek(handle, 0, os.SEEK_SET)
        return io.FileIO(handle)

    return opened
