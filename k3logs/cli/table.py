"""Rows of text in columns."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], margin: str = "") -> str:
    """``rows`` as lines, each column as wide as its widest text, the last one as it is."""
    if not rows:
        return ""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [f"{text:<{width}}" for text, width in zip(row, widths, strict=False)]
        lines.append((margin + "  ".join([*cells, row[-1]])).rstrip())
    return "\n".join(lines) + "\n"
