"""JSON string literals -> text, a column at a time."""

from __future__ import annotations

import json

import polars as pl


def unescape(body: pl.Series) -> pl.Series:
    """Decode the inside of JSON strings; what is not valid JSON is kept as it stands."""
    escaped = body.str.contains("\\", literal=True).fill_null(value=False)
    if not escaped.any():
        return body
    texts = body.filter(escaped).to_list()
    try:  # all at once costs half as much as one by one, and one by one goes on behind what cannot be read
        decoded = json.loads("[" + ",".join([f'"{text}"' for text in texts]) + "]", strict=False)
        whole = len(decoded) == len(texts)
    except ValueError:
        whole = False
    if not whole:
        decoded = [_one(text) for text in texts]
    try:
        column = pl.Series(decoded, dtype=pl.String)
    except UnicodeEncodeError:  # half of a character beyond 16 bits
        column = pl.Series([text.encode("utf-8", "replace").decode() for text in decoded], dtype=pl.String)
    return column if len(texts) == len(body) else body.scatter(escaped.arg_true(), column)


def _one(text: str) -> str:
    try:
        found = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return found if isinstance(found, str) else text
