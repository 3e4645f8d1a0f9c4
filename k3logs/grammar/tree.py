"""Lark's trees: of a grammar, as its own reader gives them, and of a line that was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lark import Token, Tree
from lark.grammar import NonTerminal

Node = Tree[Any]
"""A piece of a grammar as Lark's own reader gives it."""

VOLATILE = ("stamp", "site", "uptime")
"""Rules of a header that change from line to line."""


def flatten(node: Node, rules: dict[str, Node], seen: tuple[str, ...]) -> Iterator[Node]:
    """The top-level sequence of a form, with underscore rules put in place."""
    if node.data == "expansion":
        for child in node.children:
            yield from flatten(child, rules, seen)
    elif node.data == "expansions" and len(node.children) == 1:
        yield from flatten(node.children[0], rules, seen)
    elif node.data == "value" and isinstance(node.children[0], NonTerminal) and node.children[0].name not in VOLATILE:
        name = str(node.children[0].name)
        if name not in seen and len(rules[name].children) == 1:
            yield from flatten(rules[name], rules, (*seen, name))
        else:
            yield node
    else:
        yield node


def read_tree(tree: Tree[Token]) -> dict[str, str]:
    """Columns of a parsed line: token type in lower case -> text, plus ``form``."""
    fields = {"form": str(tree.data)}
    for token in tree.scan_values(lambda value: isinstance(value, Token)):
        fields[token.type.lower()] = str(token)
    return fields
