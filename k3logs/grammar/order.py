"""In which order grammars are tried: ``order.toml`` of the grammars that ship, and of a user's own folder.

A user's ``order.toml`` is optional and names what it places::

    dialects = ["mine", "vllm"]     # mine is tried before the vllm that ships
    texts = ["trace"]               # trace is what an untagged line can be

A grammar stands before the shipped one that follows it in the list; one that no shipped one follows, or that no list names, comes last.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from k3logs.errors import AuthorError

KEYS = ("envelopes", "dialects", "texts")
FOLDERS = {"envelopes": "envelopes", "dialects": "dialects", "texts": "dialects"}
"""Key of ``order.toml`` -> the folder that its grammars lie in."""


def order(folders: Sequence[Path]) -> dict[str, list[str]]:
    """The names of all grammars by key, in the order in which they are tried; the first folder is the one that ships.

    Raises:
        AuthorError: an ``order.toml`` that its author must mend, or a grammar that is called as another one.
    """
    shipped, *users = folders
    places = _read(shipped)
    if missing := [key for key in KEYS if key not in places]:
        raise AuthorError(shipped / "order.toml", 0, f"lists no {missing[0]}", "it lists envelopes, dialects and texts")
    owners = dict(_grammars(shipped))
    for folder in users:
        if not any(_grammars(folder)):
            raise AuthorError(folder, 0, "holds no grammar", "grammars are files DIR/dialects/NAME.lark or DIR/envelopes/NAME.lark")
        for name, file in _grammars(folder):
            if name in owners:
                whose = "of a grammar that ships" if owners[name].is_relative_to(shipped) else f"of {owners[name]}, too"
                raise AuthorError(file, 0, f"{name} is the name {whose}", "give the file and its samples another name")
            owners[name] = file
        own = _read(folder) if (folder / "order.toml").exists() else {}
        for key in KEYS:
            for place, name in enumerate(own.get(key, ())):
                if name not in owners or owners[name].parent.name != FOLDERS[key]:
                    raise AuthorError(folder / "order.toml", _line(folder / "order.toml", name), f"there is no {FOLDERS[key]}/{name}.lark", "name a grammar that ships or one of your own")
                if owners[name].is_relative_to(folder):
                    after = next((other for other in own[key][place + 1 :] if other in places[key]), None)
                    places[key].insert(places[key].index(after) if after else len(places[key]), name)
    for key, name in ((owners[name].parent.name, name) for name in owners):
        if not any(name in places[k] for k in KEYS if FOLDERS[k] == key):
            places[key].append(name)
    return places


def _grammars(folder: Path) -> Iterator[tuple[str, Path]]:
    for kind in ("envelopes", "dialects"):
        for file in sorted((folder / kind).glob("*.lark")):
            yield file.stem, file


def _read(folder: Path) -> dict[str, list[str]]:
    file = folder / "order.toml"
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise AuthorError(file, 0, f"not an order file: {error}", 'it lists names of grammars: dialects = ["mine", "vllm"]') from error
    for key, value in data.items():
        if key not in KEYS or not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise AuthorError(file, _line(file, key), f"{key!r} is no list of grammars", f"it lists {', '.join(KEYS)}, each as names in brackets")
    return data


def _line(file: Path, word: str) -> int:
    return next((n for n, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if word in line.split("#")[0]), 0)
