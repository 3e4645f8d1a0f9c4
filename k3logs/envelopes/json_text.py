"""JSON string literals -> text, a column at a time, without a JSON parser per line."""

from __future__ import annotations

import json

import polars as pl

_MARK = "\ue000"
"""Stands for an escaped backslash while the other escapes are read; private use, so no log prints it."""

_ESCAPES = {r"\"": '"', r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\/": "/", r"\b": "\b", r"\f": "\f",
            r"\u001b": "\x1b", r"\u003c": "<", r"\u003e": ">", r"\u0026": "&", r"\u001B": "\x1b"}


def unescape(body: pl.Series) -> pl.Series:
    """Decode the inside of JSON strings; what is not valid JSON is kept as it stands."""
    escaped = body.str.contains("\\", literal=True).fill_null(False)
    if not escaped.any():
        return body
    part = body.filter(escaped).str.replace_all("\\\\", _MARK, literal=True)
    for escape, character in _ESCAPES.items():
        part = part.str.replace_all(escape, character, literal=True)
    rare = part.str.contains("\\u", literal=True)
    if rare.any():
        part = part.scatter(rare.arg_true(), [_slow(text) for text in part.filter(rare)])
    return body.scatter(escaped.arg_true(), part.str.replace_all(_MARK, "\\", literal=True))


def _slow(text: str) -> str:
    """Decode the ``\\uXXXX`` left in one text; lone surrogates become U+FFFD."""
    quoted = json.dumps(text.replace("\\u", _MARK + "u"), ensure_ascii=False).replace(_MARK + "u", "\\u")
    try:
        return str(json.loads(quoted)).encode("utf-8", "replace").decode()
    except ValueError:
        return text
