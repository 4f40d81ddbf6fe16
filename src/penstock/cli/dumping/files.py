"""The files of a partition's folder as they lie on the disk, and the batches in them."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.core.base.ports import Buffer
from penstock.core.log.names import LOG, parse_file
from penstock.core.records import checksum
from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.errors import CorruptBatch

if TYPE_CHECKING:
    from penstock.shell.sealed_paths import Sealing

# A snapshot of the metadata holds batches as a segment does.
_CHECKPOINT: Final = re.compile(r"\d{20}-\d{10}\.checkpoint", re.ASCII)


class Batch(NamedTuple):
    """A batch and where it lies; `damage` says what is wrong with it, if anything is."""

    file: str
    position: int
    header: BatchHeader
    data: Buffer
    damage: str | None = None


class Torn(NamedTuple):
    """From here on a file holds no batch that can be found."""

    file: str
    position: int
    damage: str


def files_of(folder: str, kind: str) -> list[str]:
    """The files of a kind that count, in the order of their offsets."""
    found = [name for name in os.listdir(folder) if (parsed := parse_file(name)) and parsed[1:] == (kind, "")]
    return sorted(found)


def logs_of(folder: str) -> list[str]:
    """Whatever holds batches: segments, and before them the snapshots that stand for what was before."""
    return sorted(filter(_CHECKPOINT.fullmatch, os.listdir(folder))) + files_of(folder, LOG)


def batches_of(folder: str, name: str, sealing: Sealing | None = None) -> Iterator[Batch | Torn]:
    with opened(os.path.join(folder, name), sealing) as data:
        at = 0
        try:
            for position, header in iterate_headers(data):
                at = position + header.size
                good = checksum.is_valid(data, position, header)
                yield Batch(name, position, header, data, None if good else "the checksum is wrong")
        except CorruptBatch as damage:
            yield Torn(name, at, str(damage))


@contextmanager
def opened(path: str, sealing: Sealing | None) -> Iterator[Buffer]:
    """The same of a file that may be sealed: such a one is opened in memory."""
    if sealing is not None:
        from penstock.shell.sealed_paths import plain_bytes

        data = plain_bytes(path, sealing())
        if data is not None:
            yield data
            return
    with mapped(path) as view:
        yield view


@contextmanager
def mapped(path: str) -> Iterator[Buffer]:
    """A file's bytes, however large it is."""
    with open(path, "rb") as file:
        # Nothing cannot be mapped.
        if not os.fstat(file.fileno()).st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
            yield view
