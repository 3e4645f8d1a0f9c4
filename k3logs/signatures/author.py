"""Reading signature files: strict, because their author is there to mend them.

Every refusal is an :class:`k3logs.errors.AuthorError` with path and line. The same checks run on the shipped files
and on a user's own (``--signatures DIR``).
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn

from k3logs.errors import AuthorError
from k3logs.grammar.author import read_text
from k3logs.signatures.patterns import objection
from k3logs.signatures.signature import (
    CATEGORIES,
    CONDITIONS,
    FIELDS,
    PHASES,
    ROLES,
    STATUSES,
    Action,
    Explain,
    Sample,
    Signature,
    field_of,
)

SHORTEST_LITERAL = 8

_TOP: dict[str, type] = {
    "id": str, "title": str, "status": str, "role": str, "condition": str, "category": str, "phases": list, "specificity": int,
    "formerly": list, "references": list, "date": str, "issues": list, "fixed_in": str,
    "match": dict, "explain": dict, "actions": list, "samples": list, "not_samples": list,
}  # fmt: skip
_MATCH: dict[str, type] = {
    "dialects": list, "levels": list, "literals": list, "pattern": str, "quotes": bool, "gate": bool, "short_literals": str,
}  # fmt: skip
_EXPLAIN: dict[str, type] = {"what": str, "why": str, "next": str, "false_positives": str}
_ACTION: dict[str, type] = {"do": str, "when": str, "collect": list, "avoid": list}
_SAMPLE: dict[str, type] = {"line": str, "text": str, "fields": dict, "dialect": str, "level": str}
_ID = r"[A-Z][A-Z0-9]{1,9}[0-9]{3}"


class Author:
    """One file being read; knows where in it a key stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.lines = read_text(path).splitlines()
        except OSError as error:
            raise AuthorError(path, 0, f"cannot be read: {error}", "a signature is a UTF-8 text file") from error

    def at(self, table: str, key: str, index: int = 0) -> int:
        """Line of ``key`` in the index-th ``table`` ("" for the top), of the table's header where the key is absent, else 1."""
        seen, inside, found = -1, table == "", 1
        for number, line in enumerate(self.lines, 1):
            if header := re.match(r"\[\[?([a-z_]+)\]\]?[ \t]*(#.*)?$", line):
                seen += header[1] == table
                inside = header[1] == table and seen == index
                found = number if inside else found
            elif inside and re.match(re.escape(key) + r"[ \t]*=", line):
                return number
        return found

    def refuse(self, line: int, reason: str, help: str = "see an existing signature for the format") -> NoReturn:
        """Raise the error that names this file and line."""
        raise AuthorError(self.path, line, reason, help)

    def table(self, data: Any, keys: dict[str, type], required: tuple[str, ...], table: str, index: int = 0) -> dict[str, Any]:
        """``data`` as a dict whose keys are known, present where required, and of the right type."""
        if not isinstance(data, dict):
            self.refuse(self.at("", table), f"{table} must be a table")
        for key, value in data.items():
            line = self.at(table, key, index)
            if key not in keys:
                self.refuse(line, f"unknown key {key!r}", f"known here: {', '.join(keys)}")
            if not isinstance(value, keys[key]) or (keys[key] is int and isinstance(value, bool)):
                self.refuse(line, f"{key} must be of type {keys[key].__name__}")
            if isinstance(value, list) and key not in ("actions", "samples", "not_samples") and not all(isinstance(v, str) for v in value):
                self.refuse(line, f"{key} must be a list of texts")
        for key in required:
            if data.get(key) in (None, "", [], {}):
                where = f"[{table}] " if table else ""
                self.refuse(self.at(table, key, index), f"{where}{key} is missing or empty", f"add {key}")
        return data

    def word(self, value: str, allowed: tuple[str, ...], key: str) -> str:
        """``value`` if it is one of the allowed words."""
        if value not in allowed:
            self.refuse(self.at("", key), f"{key} {value!r} is not known", f"one of: {', '.join(allowed)}")
        return value


def read(path: Path) -> tuple[Signature, Author]:
    """One signature file, checked by itself (samples are checked against the whole catalogue later)."""
    author = Author(path)
    try:
        data = tomllib.loads("\n".join(author.lines) + "\n")
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"line ([0-9]+)", str(error))
        author.refuse(int(where[1]) if where else 1, f"is not TOML: {error}", "literal strings '…' and '''…''' need no escapes")
    top = author.table(data, _TOP, ("id", "title", "role", "category", "references", "match", "explain", "samples", "not_samples"), "")
    if not re.fullmatch(_ID, top["id"]) or not path.name.startswith(top["id"] + "-"):
        author.refuse(author.at("", "id"), f"id {top['id']!r} does not fit", "family and three digits, and the file is named <id>-<slug>.toml")
    role = author.word(top["role"], ROLES, "role")
    condition = top.get("condition", "")
    if (role == "depends") != bool(condition):
        author.refuse(author.at("", "condition"), "condition goes with role depends, and only with it", f"one of: {', '.join(CONDITIONS)}")
    if condition:
        author.word(condition, CONDITIONS, "condition")
    if not 0 <= top.get("specificity", 50) <= 100:
        author.refuse(author.at("", "specificity"), "specificity is 0 to 100")
    if role in ("initiating", "depends") and not top.get("actions"):
        author.refuse(author.at("", "role"), f"a signature of role {role} needs [[actions]]", "say what to do and when")
    match = _match(author, top["match"])
    explain = author.table(top["explain"], _EXPLAIN, tuple(_EXPLAIN), "explain")
    return (
        Signature(
            id=top["id"], title=top["title"], role=role, condition=condition,
            status=author.word(top.get("status", "test"), STATUSES, "status"),
            category=author.word(top["category"], CATEGORIES, "category"),
            phases=tuple(author.word(p, PHASES, "phases") for p in top.get("phases", ())),
            specificity=top.get("specificity", 50),
            formerly=tuple(top.get("formerly", ())), references=tuple(top["references"]), date=top.get("date", ""),
            issues=tuple(top.get("issues", ())), fixed_in=top.get("fixed_in", ""),
            dialects=tuple(match.get("dialects", ())), levels=tuple(match.get("levels", ())), literals=tuple(match["literals"]),
            pattern=match["pattern"], quotes=match.get("quotes", False), gate=match.get("gate", True),
            explain=Explain(**explain),
            actions=tuple(_action(author, row, i) for i, row in enumerate(top.get("actions", ()))),
            samples=tuple(_sample(author, row, "samples", i) for i, row in enumerate(top["samples"])),
            not_samples=tuple(_sample(author, row, "not_samples", i) for i, row in enumerate(top["not_samples"])),
            path=str(path),
        ),
        author,
    )  # fmt: skip


def _match(author: Author, data: Any) -> dict[str, Any]:
    match = author.table(data, _MATCH, ("literals", "pattern"), "match")
    for literal in match["literals"]:
        if len(literal) < SHORTEST_LITERAL and not match.get("short_literals"):
            author.refuse(
                author.at("match", "literals"),
                f"literal {literal!r} is shorter than {SHORTEST_LITERAL} characters",
                "take a longer one, or say in short_literals why it is still rare",
            )
    line = author.at("match", "pattern")
    if reason := objection(match["pattern"]):
        author.refuse(line, f"pattern: {reason}", "it must mean the same to Python re and to Rust")
    for name in re.compile(match["pattern"]).groupindex:
        if field_of(name) not in FIELDS:
            author.refuse(line, f"group {name!r} is not known", f"one of: {', '.join(FIELDS)}")
    return match


def _action(author: Author, data: Any, index: int) -> Action:
    row = author.table(data, _ACTION, ("do", "when"), "actions", index)
    return Action(row["do"], row["when"], tuple(row.get("collect", ())), tuple(row.get("avoid", ())))


def _sample(author: Author, data: Any, table: str, index: int) -> Sample:
    row = author.table(data, _SAMPLE, ("line",), table, index)
    fields = row.get("fields", {})
    if not all(isinstance(value, str) for value in fields.values()):
        author.refuse(author.at(table, "fields", index), "fields are texts, as they stand in the line")
    return Sample(row["line"], row.get("text", row["line"]), fields, row.get("dialect", ""), row.get("level", ""))
