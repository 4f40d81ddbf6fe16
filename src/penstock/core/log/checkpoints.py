"""Kafka's checkpoint files: a version, a count, one line per entry; replaced as a whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from typing import Final

from penstock.core.base.ports import File, FileFailure, Read, Rename, Size, Steps
from penstock.core.log.durable import sync_file, write_anew
from penstock.core.log.names import TEMPORARY

_VERSION: Final = "0"

Offsets = dict[tuple[str, int], int]


def replace(path: str, data: bytes) -> Steps[None]:
    """Give a file new content: after a crash it holds the old or the new, whole. The name still needs a SyncDir."""
    file = File(path + TEMPORARY)
    yield from write_anew(file, data)
    yield from sync_file(file)
    yield Rename(file, path)


def read_file(path: str) -> Steps[bytes | None]:
    """A small file's content; None where there is no such file."""
    file = File(path)
    size: int | None = yield Size(file)
    if size is None:
        return None
    try:
        data: bytes = yield Read(file, 0, size)
    except FileFailure as failure:
        if failure.errno == errno.ENOENT:
            return None
        raise
    return data


def write(path: str, lines: Iterable[str]) -> Steps[None]:
    entries = list(lines)
    text = "\n".join([_VERSION, str(len(entries)), *entries, ""])
    yield from replace(path, text.encode())


def read(path: str) -> Steps[list[str] | None]:
    """The entries' lines; None where the file is missing, of another version or not whole."""
    data = yield from read_file(path)
    if data is None:
        return None
    lines = data.decode(errors="replace").splitlines()
    if len(lines) < 2 or lines[0] != _VERSION or lines[1] != str(len(lines) - 2):
        return None
    return lines[2:]


def write_offsets(path: str, offsets: Mapping[tuple[str, int], int]) -> Steps[None]:
    yield from write(path, (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()))


def read_offsets(path: str) -> Steps[Offsets]:
    """Offsets by partition. What cannot be read is left out, and those logs are looked at as if never checkpointed."""
    offsets: Offsets = {}
    for line in (yield from read(path)) or ():
        match line.split():
            case [topic, partition, offset] if partition.isdecimal() and offset.isdecimal():
                offsets[topic, int(partition)] = int(offset)
    return offsets
