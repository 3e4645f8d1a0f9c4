"""Terminal colours and links, whole or broken by a collector, taken out of lines before anything is matched.

Printed by vLLM (``vllm/logging_utils/formatter.py``), Ray (``python/ray/_private/worker.py``) and rsyslog, which
writes ESC as ``#033``. ``\\x1b[36m`` may have lost its ESC (``[36m``), show it as an arrow or as ``^[``, or stand in JSON.
"""

from __future__ import annotations

import polars as pl

_WITHOUT_ESC = r"#033\[|\x{2190}\[|\^\[\[|[\n :\])]\[(?:0;|1;)?3[36]m\("
"""What tells of colours in a text where no ESC stands."""

# A colour goes as a whole, with its ESC in whatever form: what is left of half of one could be read together with what
# stands behind it, as ESC ( and a letter select a character set (ECMA-35; those that terminals know are listed).
_WHOLE = (
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|(?:\x1b|#033|\x{2190}|\\u001[bB])\[[0-9;?]*[A-Za-z]|\^\[\[[0-9;?]*[mK]|"
    r"\x1b[()*+][0-2ABKU]"
)
_TAG = r"\x1b(\([A-Za-z_][A-Za-z0-9_:.-]* (?:[A-Za-z0-9_=]+ )?pid=)"
"""A process's tag behind an ESC that lost the rest of its colour."""

_LEFT = r"\[[0-9]{1,2}(?:;[0-9]{1,2})*m|\x1b"
_BROKEN = r"\[[0-9]{1,2}(?:;[0-9]{1,2})*m(\(|\)|[A-Z])"


def may_carry(text: pl.Series) -> pl.Series:
    """In which texts, of many lines each and beginning with the newline before them, a colour sequence without ESC may stand."""
    return text.str.contains(_WITHOUT_ESC)


def carries(text: pl.Series) -> pl.Series:
    """Which lines hold a colour sequence (a mask)."""
    return text.str.contains(r"\x1b|#033\[|\x{2190}\[|\\u001[bB]\[|\^\[\[[0-9;?]*[mK]|\[(?:0;|1;)?3[36]m\(")


def strip(text: pl.Series) -> pl.Series:
    """The lines without their colour sequences."""
    text = text.str.replace(_TAG, "$1").str.replace_all(_WHOLE, "")
    rest = text.str.contains(_LEFT)
    if not rest.any():
        return text
    left = text.filter(rest).str.replace_all(_BROKEN, "$1").str.replace_all(r"\[0(?:;0)?m", "").str.replace_all("\x1b", "", literal=True)
    return text.scatter(rest.arg_true(), left)
