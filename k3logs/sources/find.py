"""Arguments of the command line -> the logs to read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from k3logs.errors import InputError
from k3logs.sources import archives, compressed
from k3logs.sources.documents import Unpacked, is_document
from k3logs.sources.names import hints, shown
from k3logs.sources.pipes import Peeked, head_of, spooled
from k3logs.sources.recoded import coding, recoded
from k3logs.sources.source import Source

PIPE = "-"
Arguments = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""One path, or several; ``-`` is standard input."""

_COMPRESSED = {".gz", ".zst", ".xz", ".bz2", ".lz", ".tgz"}
_ZIPS = (".zip",)
_TARS = (".tar", ".tgz", ".txz", ".tbz2", ".tzst", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst")
_NOT_LOGS = {".py", ".pyc", ".so", ".parquet", ".arrow", ".png", ".jpg", ".pdf", ".whl", ".pt", ".safetensors"}


def find(arguments: Arguments, notices: list[str]) -> list[Source]:
    """All logs that the arguments name: files, folders (recursive), archives, ``-`` for standard input.

    What below a folder or in an archive cannot be read is a source, too: opening it says why.

    Args:
        notices: gets a sentence for each file that is left out or read otherwise than its name says.

    Raises:
        InputError: an argument does not exist or cannot be read at all.
    """
    found: list[Source] = []
    for given in [arguments] if isinstance(arguments, (str, os.PathLike)) else arguments:
        argument = os.fspath(given)
        try:
            if argument == PIPE:
                found += _once(PIPE, sys.stdin.fileno())
                continue
            path = Path(argument)
            if not path.exists():
                raise InputError(f"no such file or folder: {shown(argument)}", "give a log file, a folder of logs, an archive, or - for standard input")
            logs = list(_folder(path, notices)) if path.is_dir() else _file(path, shown(str(path)), notices)
            if not logs:
                notices.append(f"{shown(argument)}: holds no log")
            found += logs
        except OSError as error:
            raise InputError(f"cannot read {shown(argument)}: {error.strerror or error}", "check its permissions, and that it is a log") from error
    return found


def _folder(folder: Path, notices: list[str]) -> Iterator[Source]:
    try:
        os.listdir(folder)
    except OSError as error:
        raise InputError(f"cannot read folder {shown(str(folder))}: {error.strerror}", "check its permissions") from error
    closed: list[Source] = []
    for root, folders, names in os.walk(folder, onerror=lambda e: closed.append(_closed(shown(str(e.filename)), e))):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names, key=_natural):
            path = Path(root) / name
            if name.startswith(".") or path.suffix in _NOT_LOGS:
                continue
            called = shown(str(path.relative_to(folder)))
            if path.exists() and not path.is_file():
                notices.append(f"{called}: not read (no regular file)")  # a FIFO would be waited for
                continue
            try:
                yield from _file(path, called, notices)
            except OSError as error:
                yield _closed(called, error)
    yield from closed


def _closed(name: str, error: OSError) -> Source:
    """A log that cannot be opened."""

    def refused() -> BinaryIO:
        raise error

    return Source(name, refused)


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key that puts ``rank2`` before ``rank10``."""
    key: list[tuple[int, int | str]] = []
    number = ""
    for letter in name + "\0":
        if letter.isdigit() and letter.isascii():
            number += letter
            continue
        if number:
            key.append((0, int(number)))
            number = ""
        key.append((1, letter))
    return key


def _file(path: Path, name: str, notices: list[str]) -> list[Source]:
    if not path.is_file():  # a FIFO, /dev/stdin
        return _once(name, os.open(path, os.O_RDONLY))
    stat = path.stat()
    head = head_of(lambda: path.open("rb", buffering=0))
    if stat.st_size and path.suffix in _COMPRESSED and compressed.kind(head) is None and not archives.is_tar(head):
        notices.append(f"{name}: named as compressed but is not; read as plain text")
    return _logs(name, name, lambda: path.open("rb", buffering=0), head, stat.st_mtime_ns)


def _once(name: str, handle: int) -> list[Source]:
    """Standard input or a pipe: what is packed in it is unpacked to a temporary file, for it may have to be read again."""
    stream = Peeked(handle)
    if not (compressed.kind(stream.head) or coding(stream.head) or archives.is_tar(stream.head) or archives.is_zip(stream.head) or is_document(stream.head)):
        return [Source(name, lambda: stream, once=True)]
    again = spooled(stream)
    return _logs(name, name, again, head_of(again), None)


def _logs(name: str, inside: str, raw: archives.Open, head: bytes, modified: int | None, *, inner: bool = False) -> list[Source]:
    """What is in a file or in a member of an archive that begins with ``head``: the log itself, or those of an archive.

    Args:
        inside: path that hints are taken from.
        inner: it is a member itself, and no archive is looked for in it.
    """
    whole = Source(name, raw, hints(inside), modified)
    if (packed := compressed.kind(head)) is not None:
        whole.open = compressed.unpacked(raw, packed, lambda why: whole.lose(f"cut short, read up to there ({why})"))
        whole.hints = hints(inside.removesuffix(Path(inside).suffix))
        head = head_of(compressed.unpacked(raw, packed, lambda _: None))
    if not inner and (archives.is_zip(head) or name.endswith(_ZIPS)):
        return _members(whole, archives.zip_members(whole.open, lambda why: _lose(whole, why)))
    if not inner and (archives.is_tar(head) or name.endswith(_TARS)):
        return _members(whole, archives.tar_members(whole.open, lambda why: _lose(whole, why)))
    if (name_of_coding := coding(head)) is not None:
        whole.open = recoded(whole.open, name_of_coding)
        head = head_of(whole.open)
    elif inner and packed is None:  # a member of an archive that may be damaged
        whole.open = lambda: compressed.Forgiving(raw, lambda why: whole.lose(f"damaged, read up to there ({why})"))  # type: ignore[assignment, return-value]
    if is_document(head):
        lines = whole.open
        whole.open = lambda: Unpacked(lines, whole.lose, whole.remark)  # type: ignore[assignment, return-value]
    return [whole]


def _lose(archive: Source, why: str) -> None:
    """What is wrong with an archive as a whole is said when it is opened, after its members."""
    archive.open = lambda: compressed.Forgiving(_nothing, lambda _: archive.lose(why))  # type: ignore[assignment, return-value]


def _nothing() -> BinaryIO:
    raise EOFError


def _members(archive: Source, members: Iterator[tuple[str, archives.Open]]) -> list[Source]:
    whole = archive.open
    listed = sorted(members, key=lambda member: _natural(member[0]))
    found = [log for member, raw in listed for log in _logs(f"{archive.name}!{shown(member)}", member, raw, head_of(raw), archive.modified, inner=True)]
    return found if archive.open is whole and (found or not archive.lost) else [*found, archive]
