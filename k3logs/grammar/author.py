"""A grammar's file as its author sees it: its text, and the line where something in it stands."""

from __future__ import annotations

import re
from pathlib import Path

from k3logs.errors import AuthorError

SUBSET = "terminals are made of characters, classes, groups, | and repeats: see grammars/terminals.lark and CONTRIBUTING.md"


def read_text(path: Path) -> str:
    """The text of an author's file.

    Raises:
        AuthorError: it is not UTF-8; names the line.
    """
    data = path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise AuthorError(path, data.count(b"\n", 0, error.start) + 1, f"is not UTF-8: byte 0x{data[error.start]:02x}", "save it as UTF-8 text") from error


def defined(path: Path, text: str) -> int:
    """The line of a file that defines a terminal or rule which ``text`` names, 0 where none does."""
    words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
    return next((n for n, line in enumerate(read_text(path).splitlines(), 1) if re.split(r"[.:\s]", line, maxsplit=1)[0].lstrip("?!") in words), 0)
