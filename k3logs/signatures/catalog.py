"""The catalogue of known failure texts: loading, checking, caching.

``Catalog.load()`` reads and checks every file; ``Catalog.from_cache(path)`` gives the same from one small file
as long as no signature file was added, removed or touched.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k3logs.errors import InputError
from k3logs.paths import keep
from k3logs.signatures.match import claim
from k3logs.signatures.signature import Sample, Signature

if TYPE_CHECKING:
    from k3logs.signatures.author import Author

SHIPPED = Path(__file__).parent / "data"
_FORMAT = 1  # raise when Signature's fields change: an older cache is then built again


class Catalog:
    """All signatures of a run, shipped ones and the user's own.

    Args:
        signatures: in the order of their ids.
    """

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self.signatures = tuple(sorted(signatures, key=lambda s: s.id))
        self._by_id = {old: s for s in self.signatures for old in s.formerly} | {s.id: s for s in self.signatures}
        # First to claim first: the matcher may stop at the first pattern that fits.
        self.ordered = tuple(sorted(self.signatures, key=lambda s: (-s.quotes, -s.specificity, s.id)))

    def __len__(self) -> int:
        return len(self.signatures)

    def by_id(self, id: str) -> Signature | None:
        """The signature of this id, or of the one that took its place; None where there is none."""
        return self._by_id.get(id)

    @cached_property
    def literals(self) -> dict[str, tuple[int, ...]]:
        """Every literal with the signatures it makes candidates: positions in ``ordered``, first to claim first."""
        found: dict[str, list[int]] = {}
        for place, signature in enumerate(self.ordered):
            for literal in signature.literals:
                found.setdefault(literal, []).append(place)
        return {literal: tuple(places) for literal, places in found.items()}

    @cached_property
    def beginnings(self) -> tuple[int, dict[str, list[tuple[str, tuple[int, ...]]]]]:
        """Literals by their first characters, with how many these are: as many as the shortest has, eight at most."""
        width = min([8, *map(len, self.literals)])
        found: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
        for literal, places in self.literals.items():
            found.setdefault(literal[:width], []).append((literal, places))
        return width, found

    def gate_literals(self) -> list[str]:
        """Literals that make a line worth reading."""
        return sorted({text for s in self.signatures if s.gate for text in s.literals})

    def gate_pattern(self) -> str:
        """One alternation of :meth:`gate_literals`, escaped for Rust's and Python's regular expressions alike."""
        return "|".join(_escape(text) for text in self.gate_literals())

    @classmethod
    def load(cls, extra: Sequence[str | Path] = (), folder: str | Path = SHIPPED) -> Catalog:
        """Read and check every ``*.toml`` under ``folder`` and the ``extra`` folders.

        Raises:
            AuthorError: a file that its author must mend (path, line, reason, help).
            InputError: a folder that does not exist.
        """
        from k3logs.signatures.author import read

        authors: dict[str, Author] = {}
        signatures: list[Signature] = []
        for path in _files([folder, *extra]):
            signature, author = read(path)
            for id in (signature.id, *signature.formerly):
                if id in authors:
                    author.refuse(author.at("", "id"), f"id {id} is taken by {authors[id].path.name}", "ids are for ever: take a new number")
                authors[id] = author
            signatures.append(signature)
        catalog = cls(signatures)
        for signature in catalog.signatures:
            _check_samples(catalog, signature, authors[signature.id])
        return catalog

    @classmethod
    def from_cache(cls, path: str | Path, extra: Sequence[str | Path] = (), folder: str | Path = SHIPPED) -> Catalog:
        """The same as :meth:`load`, from ``path`` where that still fits the files; else load and write it anew.

        A cache that cannot be read or written is no error: it only costs time.
        """
        key = _key([folder, *extra])
        try:
            stored = marshal.loads(Path(path).read_bytes())
            if stored[0] == key:
                return cls(Signature.unpack(row) for row in stored[1])
        except (OSError, ValueError, EOFError, TypeError, IndexError, KeyError):
            pass
        catalog = cls.load(extra, folder)
        keep(Path(path), marshal.dumps((key, tuple(s.pack() for s in catalog.signatures))))
        return catalog


def folders_key(extra: Sequence[str | Path], folder: str | Path = SHIPPED) -> str:
    """A short name for a set of folders of signatures."""
    return f"{zlib.crc32(repr([os.fspath(f) for f in (folder, *extra)]).encode()):08x}"


def _escape(text: str) -> str:
    return "".join("\\" + char if char in r"\.+*?()|[]{}^$#&-~" else char for char in text)


def _files(folders: Sequence[str | Path]) -> list[Path]:
    found: list[Path] = []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"no folder of signatures at {folder}", "give a folder that holds *.toml files")
        found += sorted(folder.rglob("*.toml"))
    return found


def _key(folders: Sequence[str | Path]) -> tuple[Any, ...]:
    stats = [(str(path), path.stat()) for path in _files(folders)]
    return (_FORMAT, sys.hexversion, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


def _check_samples(catalog: Catalog, signature: Signature, author: Author) -> None:
    for index, sample in enumerate(signature.samples):
        _check_sample(catalog, signature, author, sample, author.at("samples", "line", index))
    for index, sample in enumerate(signature.not_samples):
        if claim(catalog, sample.text, sample.dialect, sample.level)[0] == signature.id:
            author.refuse(author.at("not_samples", "line", index), "a not_sample is claimed by its own signature", "narrow the pattern")


def _check_sample(catalog: Catalog, signature: Signature, author: Author, sample: Sample, line: int) -> None:
    if not any(literal in sample.text for literal in signature.literals):
        author.refuse(line, "no literal stands in this sample", "literals pick the texts that the pattern is tried on")
    single = Catalog([signature])
    id, fields = claim(single, sample.text, sample.dialect, sample.level)
    if id is None:
        author.refuse(line, "the pattern does not match this sample")
    if fields != sample.fields:
        author.refuse(line, f"fields read {fields}, the sample says {sample.fields}", "write what must be read as fields = { … }")
    rivals = Catalog(s for s in catalog.signatures if s is not signature and s.precedence >= signature.precedence)
    rival, _ = claim(rivals, sample.text, sample.dialect, sample.level)
    if rival is not None:
        author.refuse(line, f"this sample is also claimed by {rival}", "a sample belongs to one signature: change specificity or a pattern")

