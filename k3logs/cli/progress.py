"""One line on standard error that says how far long work is; silent where nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from k3logs.reports import words
from k3logs.reports.safe import one_line

FIRST_AFTER = 1.0
EVERY = 0.2


class Progress:
    """Shown only on a terminal, only past a second, and wiped at the end.

    Args:
        what: name of the work, before the figures.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.shows = sys.stderr is not None and sys.stderr.isatty()
        self.shown = False
        self.next = time.monotonic() + FIRST_AFTER

    def __call__(self, source: str, done: int) -> None:
        """Say how many bytes of a source were read so far."""
        self.say(f"{words.size(done)} of {one_line('stdin' if source == '-' else source, 50)}")

    def say(self, text: str) -> None:
        """Show ``text``, at most a few times a second."""
        if self.shows and (now := time.monotonic()) >= self.next:
            self.next = now + EVERY
            self.shown = True
            print(f"\r\x1b[K{self.what}: {text}"[:120], end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
