"""Whether a pattern means the same to Python's ``re`` and to the Rust engine of polars.

Both are used: Python on the few texts that a literal picked, Rust on whole columns. What they read differently
(Unicode classes, look-around, back-references, possessive quantifiers, ``\\Z``) is refused where it is written.
"""

from __future__ import annotations

import re

_FOREIGN = {
    "(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind",
    "(?P=": "back-reference", "(?(": "conditional group", "(?>": "atomic group", "(?#": "comment",
}  # fmt: skip
_UNICODE = {"d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]", "s": "[ \\t]", "S": "[^ \\t]"}
_ANCHORS = {"b": "a neighbouring character class", "B": "a neighbouring character class", "Z": "$", "A": "^"}


def objection(pattern: str) -> str:
    """Why this pattern is not portable, or an empty string."""
    inside = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            escaped = pattern[at + 1 : at + 2]
            if escaped in _UNICODE:
                return f"\\{escaped} is Unicode in one engine: write {_UNICODE[escaped]}"
            if escaped in _ANCHORS:
                return f"\\{escaped} differs between the engines: use {_ANCHORS[escaped]}"
            if escaped.isdigit():
                return f"\\{escaped} is a back-reference"
            at += 2
            continue
        if inside:
            if ord(char) > 127:
                return f"character class holds {char!r}, which is not ASCII"
            inside = char != "]"
        elif char == "[":
            inside = True
            at += 1 + (pattern[at + 1 : at + 2] == "^")
            at += pattern[at : at + 1] == "]"
            continue
        elif char == "(":
            for opening, name in _FOREIGN.items():
                if pattern.startswith(opening, at):
                    return f"{name} {opening!r}"
        elif char in "*+?}" and pattern[at + 1 : at + 2] == "+":
            return f"possessive quantifier {pattern[at : at + 2]!r}"
        at += 1
    try:
        re.compile(pattern, re.ASCII)
    except re.error as error:
        return f"does not compile: {error}"
    return ""
