"""Arguments of the command line -> the logs to read."""

from __future__ import annotations

import io
import os
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from k3logs.errors import InputError
from k3logs.sources import compressed
from k3logs.sources.names import hints
from k3logs.sources.source import Source

PIPE = "-"
_COMPRESSED = {".gz", ".zst", ".xz", ".bz2", ".lz", ".tgz"}
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".zip")
_NOT_LOGS = {".py", ".pyc", ".so", ".parquet", ".arrow", ".png", ".jpg", ".pdf", ".whl", ".pt", ".safetensors"}


def find(arguments: Iterable[str], notices: list[str]) -> list[Source]:
    """All logs that the arguments name: files, folders (recursive), archives, ``-`` for standard input.

    Args:
        notices: gets a sentence for each file below a folder that cannot be read.

    Raises:
        InputError: an argument does not exist or cannot be read at all.
    """
    found: list[Source] = []
    for argument in arguments:
        if argument == PIPE:
            found.append(Source(PIPE, lambda: _stdin()))
            continue
        path = Path(argument)
        try:
            there = path.exists()
        except OSError as error:
            raise InputError(f"cannot read {argument}: {error.strerror}", "give a path that exists") from error
        if not there:
            raise InputError(f"no such file or folder: {argument}", "give a log file, a folder of logs, an archive, or - for standard input")
        if path.is_dir():
            found += _folder(path, notices)
        else:
            try:
                found += _file(path, str(path), notices)
            except OSError as error:
                raise InputError(f"cannot read {argument}: {error.strerror or error}", "check its permissions") from error
    return found


def _stdin() -> BinaryIO:
    return io.FileIO(sys.stdin.fileno(), closefd=False)


def _folder(folder: Path, notices: list[str]) -> Iterator[Source]:
    try:
        os.listdir(folder)
    except OSError as error:
        raise InputError(f"cannot read folder {folder}: {error.strerror}", "check its permissions") from error
    for root, folders, names in os.walk(folder, onerror=lambda e: notices.append(f"{e.filename}: not read ({e.strerror})")):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names, key=_natural):
            path = Path(root) / name
            if name.startswith(".") or path.suffix in _NOT_LOGS:
                continue
            if path.exists() and not path.is_file():
                notices.append(f"{path.relative_to(folder)}: not read (no regular file)")  # a FIFO would be waited for
                continue
            try:
                yield from _file(path, str(path.relative_to(folder)), notices)
            except OSError as error:
                notices.append(f"{path.relative_to(folder)}: not read ({error.strerror or error})")


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
    if not path.is_file():  # a FIFO or /dev/stdin
        return [Source(name, lambda: path.open("rb", buffering=0))]
    modified = path.stat().st_mtime_ns
    if name.endswith(_ARCHIVES):
        return [Source(s.name, s.open, s.hints, modified) for s in _archive(path, name, notices)]
    compression = compressed.kind(path)
    if compression is None and path.suffix in _COMPRESSED and path.stat().st_size:
        notices.append(f"{name}: named as compressed but is not; read as plain text")
    opener = compressed.opener(path, compression, lambda why: notices.append(f"{name}: cut short, read up to there ({why})"))
    plain = name.removesuffix(path.suffix) if compression else name
    return [Source(name, opener, hints(plain), modified)]


def _archive(path: Path, name: str, notices: list[str]) -> Iterator[Source]:
    """Members of a tar or zip archive, each opened on its own when it is read."""
    try:
        if name.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                members = sorted((m for m in archive.namelist() if not m.endswith("/")), key=_natural)
            for member in members:
                yield Source(f"{name}!{member}", _zip_opener(path, member), hints(member))
            return
        with tarfile.open(path) as tar:
            members = sorted((m.name for m in tar if m.isfile()), key=_natural)
        for member in members:
            yield Source(f"{name}!{member}", _tar_opener(path, member), hints(member))
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        notices.append(f"{name}: not a whole archive ({error})")


def _zip_opener(path: Path, member: str):  # type: ignore[no-untyped-def]
    return lambda: zipfile.ZipFile(path).open(member)


def _tar_opener(path: Path, member: str):  # type: ignore[no-untyped-def]
    def opened() -> BinaryIO:
        inner = tarfile.open(path).extractfile(member)
        assert inner is not None
        return inner  # type: ignore[return-value]

    return opened
