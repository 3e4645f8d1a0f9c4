"""One line on standard error that says how far long work is; silent where nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from k3logs.reports import words

FIRST_AFTER = 1.0
EVERY = 0.2


class Progress:
    """Called by long work as ``progress(done, total)``, in bytes; shown only on a terminal and only past a second.

    Args:
        what: name of the work, before the figures.
        unit: ``bytes``, else the name of what is counted.
    """

    def __init__(self, what: str, unit: str = "bytes") -> None:
        self.what = what
        self.unit = unit
        self.shows = sys.stderr is not None and sys.stderr.isatty()
        self.shown = False
        self.next = time.monotonic() + FIRST_AFTER

    def __call__(self, done: int, total: int | None = None, note: str = "") -> None:
        """Say how far it is.

        Args:
            total: None where it cannot be known, as for a pipe.
        """
        if not self.shows or (now := time.monotonic()) < self.next:
            return
        self.next = now + EVERY
        self.shown = True
        amount = words.size(done) if self.unit == "bytes" else words.number(done)
        whole = f" of {words.size(total) if self.unit == 'bytes' else words.number(total)}" if total else ""
        unit = "" if self.unit == "bytes" else f" {self.unit}"
        print(f"\r\x1b[K{self.what}: {amount}{whole}{unit}{', ' + note if note else ''}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
