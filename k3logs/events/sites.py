"""Numbers for the places in source code that lines name: equal text, equal number, over all chunks of a source."""

from __future__ import annotations

import numpy as np

from k3logs.events.keys import Numbers, hashed
from k3logs.events.lines import Ints
from k3logs.events.rows import Rows

NOWHERE = 0
"""Number of lines that name no place."""


class Sites:
    """The different places of one source; ``texts[n]`` is the one with number ``n``, as printed."""

    def __init__(self) -> None:
        self.texts = [""]
        self._numbers = Numbers()

    def of(self, rows: Rows) -> Ints | None:
        """The number of each row's place; None where no row names one."""
        found: Ints | None = None
        for pieces in rows.sites:
            some = np.flatnonzero(pieces.size)
            if not len(some):
                continue
            if found is None:
                found = np.full(len(rows), NOWHERE, np.int32)
            start, size, buffer = pieces.start[some], pieces.size[some], pieces.lines.buffer
            keys = hashed(pieces.lines, start, size)
            numbers = self._numbers.find(keys)
            unknown = np.flatnonzero(numbers < 0)
            if len(unknown):
                fresh, at = np.unique(keys[unknown], return_index=True)
                self._numbers.add(fresh, np.arange(len(self.texts), len(self.texts) + len(fresh)))
                self.texts += [buffer[start[n] : start[n] + size[n]].tobytes().decode("utf-8", "replace") for n in unknown[at].tolist()]
                numbers[unknown] = self._numbers.find(keys[unknown])
            found[pieces.row[some]] = numbers
        return found
