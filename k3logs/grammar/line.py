"""One ``.lark`` file, two engines: Lark reads a line, and the same rules compile to a Rust regular expression.

A *line grammar* is written in the regular subset of Lark's notation (sequences,
``?``, alternatives, sub-rules, no recursion). Each aliased alternative of the rule
``line`` is a *form*; each terminal without a leading underscore is a column of its
lower-case name. Four names have a meaning to the engine:

``MESSAGE``
    the rest of the line, always optional and last.
``stamp``, ``site``, ``uptime``
    rules that hold what changes from line to line: the time stamp, the emitter's
    file and line, seconds since some start. All that stands before the message without these is
    the line's *header key*; lines of one process and level share it, so it is
    parsed once, by Lark itself.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedInput
from lark.grammar import NonTerminal, Terminal

from k3logs.errors import AuthorError
from k3logs.grammar.author import SUBSET, defined, read_text
from k3logs.grammar.determinism import conflicts, objection, opening_bytes
from k3logs.grammar.tree import VOLATILE, Node, flatten, read_tree

REST = "MESSAGE"
OPENING = 8
"""How many first bytes of a line decide which forms are tried on it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a header, in order: ``kind`` is ``key`` or one of :data:`VOLATILE`.

    ``group`` is the regex group that captures it, or None for a constant of ``length`` bytes.
    """

    kind: str
    group: str | None
    length: int


@dataclass(frozen=True, slots=True)
class Form:
    """One alternative of a grammar's ``line`` rule, compiled.

    Attributes:
        pattern: the whole line, one named group per column.
        header: the line up to its message, one named group per non-constant :class:`Segment`.
        separator: bytes between header and message that may be missing when the message is.
        opening: bit sets of possible first bytes, see :func:`opening_bytes`.
        stamp: terminal names inside the ``stamp`` rule, which say how to read it.
    """

    grammar: str
    name: str
    pattern: str
    header: str
    segments: tuple[Segment, ...]
    separator: int
    columns: tuple[str, ...]
    opening: tuple[int, ...]
    stamp: tuple[str, ...]

    @property
    def id(self) -> str:
        """``grammar.form``, unique in an installation."""
        return f"{self.grammar}.{self.name}"


def _name(symbol: Any) -> str:
    return str(symbol.name)


class LineGrammar:
    """A line grammar, loaded from its file.

    Args:
        path: the ``.lark`` file; its stem is the grammar's name.
        imports: folder where ``%import .terminals`` is looked up.

    Raises:
        AuthorError: the file is not a line grammar; says which form, why, and what to do.
    """

    def __init__(self, path: Path, imports: Path) -> None:
        self.path = path
        self.name = path.stem
        try:
            text = read_text(path)
            with warnings.catch_warnings():
                warnings.simplefilter("error", FutureWarning)  # a class within a class: one engine reads it, the other does not
                self.lark = Lark(text, parser="lalr", start="line", maybe_placeholders=False, import_paths=[str(imports)], source_path=str(path))
        except (LarkError, OSError, FutureWarning, re.error) as error:
            said = " ".join(str(error).split())[:400]
            raise AuthorError(path, getattr(error, "line", 0) or defined(path, said), f"not a line grammar: {said}", SUBSET) from error
        self._terminals = {t.name: t.pattern.to_regexp() for t in self.lark.terminals}
        self._rules = {str(name): tree for name, _, tree, _ in self.lark.grammar.rule_defs}
        for name, pattern in self._terminals.items():
            if (reason := objection(pattern)):
                raise AuthorError(path, defined(path, name), f"terminal {name}: {reason}", SUBSET)

    def _wrong(self, form: str, reason: str, help: str = "") -> AuthorError:
        line = next((n for n, text in enumerate(read_text(self.path).splitlines(), 1) if f"-> {form}" in text), 0)
        return AuthorError(self.path, line, f"form {form!r}: {reason}", help)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The alternatives of ``line``, compiled."""
        compiled = []
        for alternative in self._rules["line"].children:
            if alternative.data != "alias" or alternative.children[1] is None:
                raise self._wrong("?", "an alternative of 'line' has no '-> name'", "name every form")
            body, alias = alternative.children
            compiled.append(self._compile(_name(alias), body))
        return tuple(compiled)

    def _compile(self, name: str, body: Node) -> Form:
        columns: list[str] = []
        pattern = "^" + self._regex(name, body, columns, ("line",)) + "$"
        sequence = list(flatten(body, self._rules, ("line",)))
        rest = [n for n, node in enumerate(sequence) if REST in self._names(node)]
        if rest and rest != [len(sequence) - 1]:
            raise self._wrong(name, f"{REST} must be the last part", "put what follows it into the message")
        head, separator, tail = (sequence[:-1], 0, self._tail(name, sequence[-1])) if rest else (sequence, 0, "$")
        separator = len(tail.encode()) if rest else 0
        closing = f"(?:{re.escape(tail)}|$)" if separator else "" if rest else "$"
        segments: list[Segment] = []
        header = "^" + "".join(self._segments(name, head, segments)) + closing
        if clashes := list(conflicts(pattern)):
            raise self._wrong(name, f"more than one way to read a line: {clashes[0]}",
                              "let a terminal end before a character it cannot contain; see grammars/terminals.lark")
        stamp = next((tuple(self._names(n)) for n in head if "stamp" in self._rules_in(n)), ())
        return Form(self.name, name, pattern, header, tuple(segments), separator, tuple(columns),
                    opening_bytes(pattern, OPENING), stamp)

    def _tail(self, form: str, node: Node) -> str:
        """The constant between header and message in ``MESSAGE?`` or ``(" " MESSAGE?)?``."""
        inner = self._optional(node)
        if inner is None:
            raise self._wrong(form, f"{REST} is not optional", f"write {REST}? so that an empty message is read too")
        parts = list(flatten(inner, self._rules, ("line",)))
        if len(parts) == 1 and parts[0].data == "value":
            return ""
        texts = [self._constant(p) for p in parts[:-1]]
        if None in texts or self._optional(parts[-1]) is None:
            raise self._wrong(form, f"{REST} stands in an optional part with more than a constant", f'write (" " {REST}?)?')
        return "".join(t or "" for t in texts)

    @staticmethod
    def _optional(node: Node) -> Node | None:
        if node.data == "maybe":
            inner: Node = node.children[0]
            return inner
        if node.data == "expr" and str(node.children[1]) == "?":
            inner = node.children[0]
            return inner
        return None

    def _constant(self, node: Node) -> str | None:
        """The text of a part that is always the same, else None."""
        match node:
            case Tree(data="value", children=[Tree(data="literal", children=[Token(type="STRING") as s])]):
                return str(ast.literal_eval(str(s)))
            case Tree(data="value", children=[Terminal(name=n)]) if n.startswith("_"):
                regex = self._terminals[n]
                plain = re.sub(r"\\(.)", r"\1", regex)
                return plain if re.escape(plain) == regex or regex == plain and plain.isspace() else None
        return None

    def _segments(self, form: str, head: list[Node], out: list[Segment]) -> Iterator[str]:
        """Yield the header's regex piece by piece, filling ``out``."""
        run: list[Node] = []

        def close() -> Iterator[str]:
            if not run:
                return
            constants = [self._constant(n) for n in run]
            regex = "".join(self._regex(form, n, None, ("line",)) for n in run)
            if None in constants:
                group = f"k{len(out)}"
                out.append(Segment("key", group, 0))
                yield f"(?P<{group}>{regex})"
            else:
                out.append(Segment("key", None, sum(len((c or "").encode()) for c in constants)))
                yield regex
            run.clear()

        for node in head:
            volatile = self._rules_in(node) & set(VOLATILE)
            if not volatile:
                run.append(node)
                continue
            if node.data != "value":
                raise self._wrong(form, f"{volatile.pop()} stands inside an optional part or alternative", "split the form in two")
            yield from close()
            kind = _name(node.children[0])
            if any(s.kind == kind for s in out):
                raise self._wrong(form, f"{kind} appears twice")
            out.append(Segment(kind, kind, 0))
            yield f"(?P<{kind}>{self._regex(form, node, None, ('line',))})"
        yield from close()

    def _names(self, node: Node) -> list[str]:
        """Terminal names below a node, through sub-rules, in order."""
        found: list[str] = []
        for value in node.find_data("value"):
            child = value.children[0]
            if isinstance(child, Terminal):
                found.append(str(child.name))
            elif isinstance(child, NonTerminal):
                found += self._names(self._rules[str(child.name)])
        return found

    def _rules_in(self, node: Node) -> set[str]:
        found: set[str] = set()
        for value in node.find_data("value"):
            child = value.children[0]
            if isinstance(child, NonTerminal):
                found |= {str(child.name)} | self._rules_in(self._rules[str(child.name)])
        return found

    def _regex(self, form: str, node: Node, columns: list[str] | None, stack: tuple[str, ...]) -> str:
        """The regular expression of a node; named groups are added to ``columns`` unless that is None."""
        match node:
            case Tree(data="expansions", children=children):
                return "(?:" + "|".join(self._regex(form, c, columns, stack) for c in children) + ")"
            case Tree(data="expansion", children=children):
                return "".join(self._regex(form, c, columns, stack) for c in children)
            case Tree(data="maybe", children=[inner]) | Tree(data="expr", children=[inner, Token(value="?")]):
                return "(?:" + self._regex(form, inner, columns, stack) + ")?"
            case Tree(data="value", children=[Terminal(name=terminal)]):
                regex = self._terminals[terminal]
                if columns is None or terminal.startswith("_"):
                    return f"(?:{regex})"
                if (column := terminal.lower()) in columns:
                    raise self._wrong(form, f"{terminal} appears twice", "give the second one a name of its own")
                columns.append(column)
                return f"(?P<{column}>{regex})"
            case Tree(data="value", children=[NonTerminal(name=rule)]):
                if rule in stack:
                    raise self._wrong(form, f"rule {rule} is recursive", "a line grammar is regular; nested text belongs in grammars/messages")
                return self._regex(form, self._rules[str(rule)], columns, (*stack, str(rule)))
            case Tree(data="value", children=[Tree(data="literal", children=[Token(type="STRING") as s])]):
                return re.escape(str(ast.literal_eval(str(s))))
        raise self._wrong(form, f"{' '.join(str(node).split())[:120]} is outside the regular subset",
                          "use sequences, '?', alternatives and sub-rules only")

    def parse(self, line: str) -> dict[str, str] | None:
        """Read one line with Lark, the reference.

        Returns:
            the line's columns and ``form``, or None where the line is not of this grammar.
        """
        try:
            tree = self.lark.parse(line)
        except UnexpectedInput:
            return None
        return read_tree(tree)

    def explain(self, line: str) -> str:
        """Where a line leaves the grammar, with what was expected there; empty when it does not."""
        try:
            self.lark.parse(line)
        except UnexpectedInput as error:
            wanted = ", ".join(sorted(map(str, getattr(error, "accepts", None) or getattr(error, "expected", None) or ())))
            return f"{error.get_context(line).rstrip()}  expected: {wanted or 'the end of the line'}"
        return ""
