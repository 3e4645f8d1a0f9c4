"""What k3logs raises.

::

    K3LogsError                 everything below; the command line prints it and exits 2
    ├── InputError              a source, option or output that cannot be used
    └── AuthorError             a grammar, signature or data file that its author must mend

Log data never raises: odd input becomes a notice and a number in ``coverage``.
"""

from __future__ import annotations

from pathlib import Path


class K3LogsError(Exception):
    """Base of all errors that a user can act on.

    Args:
        message: one sentence that says what is wrong.
        help: one sentence that says what to do about it.
    """

    exit_status = 2

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return f"{self.message} ({self.help})" if self.help else self.message


class InputError(K3LogsError):
    """A source, option value or output that cannot be used as given."""


class AuthorError(K3LogsError):
    """A grammar, signature or data file is wrong; never raised by log data.

    Args:
        path: the file to mend.
        line: 1-based line in it, 0 where no line can be named.
        reason: what is wrong there.
        help: what to do about it.
    """

    def __init__(self, path: str | Path, line: int, reason: str, help: str = "") -> None:
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {reason}", help)
        self.path = Path(path)
        self.line = line
        self.reason = reason
