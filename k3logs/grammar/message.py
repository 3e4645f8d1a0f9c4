"""Nested messages: context-free grammars that Lark alone reads, on the few lines that a literal picks.

A message grammar is ``grammars/messages/NAME.lark``, any LALR grammar. Comments in its head tell when it is tried::

    // @prefilter "- Init START"     one of these stands in the text (also a gate: such lines are kept)
    // @from "comm 0x"               where the reading begins; without it, at the prefilter, without both at the start

A grammar without a prefilter is one that others ask for by name; its literals are common in healthy logs.

What is read becomes plain data. A terminal is a text under its lower-case name, a rule a dict under its name, and
these rule names mean more:

``start``               the result itself
``list``, ``tuple``     a list
``dict``                a dict of its entries
``call``                a dict with the name under ``class``
``entry``, ``field``    key and value (empty where there is none); the key of a ``field`` is turned into snake_case
``NAME_list``           a list of what its rules read, under NAME
NAME with one VALUE     the text of the terminal ``VALUE``, under NAME

Terminals and rules whose name begins with an underscore are left out. Log data never raises here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k3logs.errors import AuthorError
from k3logs.grammar.author import read_text
from k3logs.paths import cache_folder, data_folder

if TYPE_CHECKING:
    from lark import Lark

Read = dict[str, Any]
"""What a message says: texts, and lists and dicts of texts."""

LONGEST = 65_536
"""Characters read; what is longer is a dump, and its beginning says so."""

_TRIES = 4
_DIRECTIVE = re.compile(r'^// @(prefilter|from) (".*")\s*$', re.MULTILINE)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


@dataclass(slots=True)
class MessageGrammar:
    """One message grammar; Lark's tables are built, or unpacked, when a text is first read.

    Attributes:
        prefilters: one of these stands in a text that is worth reading.
        starts: literals at which the reading may begin, in the order tried.
    """

    path: Path
    prefilters: tuple[str, ...]
    starts: tuple[str, ...]
    packed: bytes = b""
    _lark: Lark | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: Path) -> MessageGrammar:
        """Read a grammar's head; its rules are looked at later.

        Raises:
            AuthorError: the file cannot be read, or a directive is not a quoted text.
        """
        try:
            text = read_text(path)
            found = [(kind, str(json.loads(value))) for kind, value in _DIRECTIVE.findall(text)]
        except (OSError, ValueError) as error:
            raise AuthorError(path, 0, f"not a message grammar: {error}", 'directives look so: // @prefilter "text"') from error
        prefilters = tuple(value for kind, value in found if kind == "prefilter")
        return cls(path, prefilters, tuple(value for kind, value in found if kind == "from") or prefilters)

    @property
    def name(self) -> str:
        """The file's stem, by which the grammar is asked for."""
        return self.path.stem

    def dump(self) -> bytes:
        """Lark's tables, for :meth:`load`; builds them.

        Raises:
            AuthorError: Lark refuses the grammar.
        """
        from lark import Lark
        from lark.exceptions import LarkError

        try:
            self._lark = Lark(self.path.read_text(), parser="lalr", maybe_placeholders=False)
        except (LarkError, OSError) as error:
            raise AuthorError(self.path, getattr(error, "line", 0) or 0, " ".join(str(error).split())[:400]) from error
        out = BytesIO()
        self._lark.save(out)
        self.packed = out.getvalue()
        return self.packed

    def load(self, packed: bytes) -> None:
        """Take tables that :meth:`dump` gave; they are unpacked when needed."""
        self.packed, self._lark = packed, None

    def parse(self, text: str) -> Read | None:
        """What a text says, or None where it is not of this grammar."""
        if self.prefilters and not any(literal in text for literal in self.prefilters):
            return None
        for place in self._places(text):
            found = self._read(text[place : place + LONGEST])
            if found is not None:
                return found
        return None

    def _places(self, text: str) -> Iterator[int]:
        if not any(self.starts):
            yield 0
            return
        for literal in self.starts:
            place = -1
            for _ in range(_TRIES):
                if (place := text.find(literal, place + 1)) < 0:
                    break
                yield place

    def _read(self, text: str) -> Read | None:
        from lark import Lark
        from lark.exceptions import LarkError

        if self._lark is None:
            if self.packed:
                self._lark = Lark.load(BytesIO(self.packed))
            else:
                self.dump()
        assert self._lark is not None
        try:
            found = plain(self._lark.parse(text))
        except (LarkError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


def snake(name: str) -> str:
    """``SeqNum`` -> ``seq_num``, ``Timeout(ms)`` -> ``timeout_ms``."""
    return _SNAKE.sub("_", name).strip("_").lower()


def _text(token: Any) -> str:
    if token.type == "STRING":
        return _ESCAPE.sub(r"\1", str(token)[1:-1])
    return str(token)


def plain(node: Any) -> Any:
    """A parse tree as dicts, lists and texts; see the module's head for how."""
    if not hasattr(node, "children"):
        return _text(node)
    rule = str(node.data)
    if rule in ("list", "tuple"):
        return [plain(child) for child in node.children]
    if rule in ("entry", "field"):
        key, *value = node.children
        return (snake(str(key)) if rule == "field" else _text(key)), plain(value[0]) if value else ""
    if rule.endswith("_list"):
        return rule.removesuffix("_list"), [_merged(c.children) if hasattr(c, "children") else _text(c) for c in node.children]
    if rule == "call":
        name, *rest = node.children
        return {"class": _text(name), **_merged(rest)}
    if len(node.children) == 1 and getattr(node.children[0], "type", "") == "VALUE":
        return rule, _text(node.children[0])
    merged = _merged(node.children)
    return merged if rule in ("start", "dict") else (rule, merged)


def _merged(children: list[Any]) -> Read:
    """Children under their names; what has none (an argument without a keyword) under its number."""
    merged: Read = {}
    for n, child in enumerate(children):
        if not hasattr(child, "children") and child.type.isupper() and child.type not in ("STRING", "NUMBER", "BARE", "ANGLE"):
            merged[child.type.lower()] = _text(child)
            continue
        value = plain(child)
        if isinstance(value, tuple):
            merged[value[0]] = value[1]
        else:
            merged[str(n)] = value
    return merged


@cache
def messages(folder: Path | None = None) -> Mapping[str, MessageGrammar]:
    """The message grammars of a folder by name, the shipped ones by default; tables come from the cache.

    Raises:
        AuthorError: a grammar is wrong, or does not read its samples.
    """
    folder = folder or data_folder("grammars") / "messages"
    files = sorted(folder.glob("*.lark"))
    grammars = {file.stem: MessageGrammar.open(file) for file in files}
    digest = hashlib.sha1(usedforsecurity=False)
    for file in files:
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    stored = cache_folder() / f"messages-{digest.hexdigest()[:20]}.pickle"
    packed = _stored(stored)
    if packed.keys() != grammars.keys():
        from k3logs.grammar.bundle import store
        from k3logs.grammar.samples import check_message

        packed = {file.stem: check_message(file).packed for file in files}
        store(stored, packed)
    for name, grammar in grammars.items():
        grammar.load(packed[name])
    return grammars


def _stored(path: Path) -> dict[str, bytes]:
    import pickle

    try:
        with path.open("rb") as file:
            packed = pickle.load(file)  # our own file, in the user's own cache folder
    except (OSError, pickle.PickleError, EOFError, ValueError):
        return {}
    return packed if isinstance(packed, dict) else {}


def prefilters() -> tuple[str, ...]:
    """Literals of all shipped message grammars: a line with one of them says something that is read."""
    return tuple(sorted({literal for grammar in messages().values() for literal in grammar.prefilters}))


def parse_message(name: str, text: str) -> Read | None:
    """Read a text with the shipped message grammar ``name``; None where it says nothing of the kind.

    Raises:
        KeyError: there is no such grammar.
    """
    return messages()[name].parse(text)


def read_all(text: str) -> dict[str, Read]:
    """All that the shipped message grammars find in a text, by grammar."""
    return {name: found for name, grammar in messages().items() if grammar.prefilters and (found := grammar.parse(text)) is not None}
