"""JSON objects around lines, whoever wrote them: the text that was wrapped, its time, and where it comes from."""

from __future__ import annotations

import numpy as np
import polars as pl

from k3logs.envelopes import ansi, collected_json, docker_json
from k3logs.envelopes.json_text import unescape

FORM = "docker_json.line"
_SEPARATOR = "\x1f"
_KEYS = ("stream", "partial", "host", "pod", "container", "namespace")


def read(lines: pl.Series) -> pl.DataFrame:
    """Unwrap those of the lines, all of which begin with a brace, that are wrapped.

    Returns:
        in the lines' order: ``place``, ``text`` (decoded, without colours and line end), ``stamp`` (RFC 3339, or null), ``key``
        for :func:`fields`.
    """
    frame = docker_json.read(lines)
    if frame.height < len(lines):
        rest = pl.Series(np.delete(np.arange(len(lines), dtype=np.uint32), frame["place"].to_numpy()))
        more = collected_json.read(lines.gather(rest))
        if more.height:
            frame = pl.concat([frame, more.with_columns(rest.gather(more["place"]).alias("place"))], how="diagonal").sort("place")
    text = unescape(frame["body"])
    open_ended = ~text.str.ends_with("\n") & (text.str.len_bytes() >= docker_json.PIECE)
    text = _cleaned(text)
    partial = pl.when(open_ended).then(pl.lit("P")).otherwise(pl.lit("F"))
    if "tag" in frame.columns:
        partial = pl.coalesce(pl.col("tag"), partial)
    frame = frame.with_columns(text.alias("text"), partial.alias("partial"))
    keys = pl.concat_str([pl.col(k).fill_null("") if k in frame.columns else pl.lit("") for k in _KEYS], separator=_SEPARATOR)
    return frame.select("place", "text", "stamp", keys.alias("key"))


def decoded(body: pl.Series) -> pl.Series:
    """The text of JSON strings, without colours and line end."""
    return _cleaned(unescape(body))


def _cleaned(text: pl.Series) -> pl.Series:
    text = text.str.strip_suffix("\n").str.strip_chars_end("\r")
    coloured = ansi.carries(text)
    return text.scatter(coloured.arg_true(), ansi.strip(text.filter(coloured))) if coloured.any() else text


def key(**given: str) -> str:
    """The key of a line whose header has these fields and no others."""
    return _SEPARATOR.join(given.get(name, "") for name in _KEYS)


def fields(key: str) -> dict[str, str]:
    """The header fields that a line's key stands for."""
    return {name: value for name, value in zip(_KEYS, key.split(_SEPARATOR), strict=True) if value}
