"""The file that is handed on: parts with a bound each and one for all, compressed, with a list of what is in it."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from penstock.cli.debugging.redacting import Redactor
from penstock.cli.talk import Refused, advice

PART_BYTES_MAX: Final = 4 << 20
BUNDLE_BYTES_MAX: Final = 64 << 20
"""Before compression."""
CONTENTS: Final = "CONTENTS.txt"
_CUT: Final = "\n[cut: {} bytes are left out]\n"


class Part(NamedTuple):
    """One file of a bundle: what it is, and how its text is got. One that fails says so in its place."""

    name: str
    what: str
    read: Callable[[], str]


class Written(NamedTuple):
    name: str
    what: str
    size_bytes: int


def write(path: str, parts: Iterator[Part], redact: Redactor) -> list[Written]:
    """Gives what is in it. The file is for its owner alone, is whole or not there, and replaces nothing."""
    if os.path.exists(path):
        raise Refused(f"{path} is there already", "give another name with --file")
    unfinished = f"{path}.part"
    try:
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            written = list(_add_all(tar, parts, redact))
        os.rename(unfinished, path)
    except OSError as failure:
        raise Refused(f"cannot write {path}: {failure.strerror}", advice(failure)) from None
    return written


def _add_all(tar: tarfile.TarFile, parts: Iterator[Part], redact: Redactor) -> Iterator[Written]:
    # Everything is read before anything is hidden: what is a secret is known only then.
    read = [(part, _text_of(part)) for part in parts]
    left, written = BUNDLE_BYTES_MAX, []
    for part, text in read:
        data = _bounded(redact(text).encode(errors="replace"), min(PART_BYTES_MAX, left))
        left -= len(data)
        written.append(Written(part.name, part.what, len(data)))
        _add(tar, part.name, data)
    lines = [f"{each.size_bytes:>10}  {each.name}  {each.what}" for each in written]
    _add(tar, CONTENTS, redact("\n".join([*lines, ""])).encode())
    yield from written


def _text_of(part: Part) -> str:
    try:
        return part.read()
    except Exception as failure:  # Whatever does not work is what somebody is asked about.
        return f"not got: {type(failure).__name__}: {failure}\n"


def _bounded(data: bytes, size_max: int) -> bytes:
    """The end matters more than the beginning: it is the newest."""
    if len(data) <= size_max:
        return data
    return _CUT.format(len(data) - size_max).encode() + data[len(data) - size_max :]


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(f"penstock-debug/{name}")
    entry.size, entry.mtime, entry.mode = len(data), int(time.time()), 0o600
    tar.addfile(entry, io.BytesIO(data))
