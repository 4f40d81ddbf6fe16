"""Files that may be sealed, with plain blocking calls: for threads, workers and commands."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from penstock.core.base.errors import PenstockError
from penstock.core.base.ports import Buffer
from penstock.core.sealing.finding import Pread
from penstock.core.sealing.names import holds_records
from penstock.core.sealing.sealed_file import SealedFile, Seals, open_file
from penstock.shell.descriptors import APPEND_FLAGS, FILE_MODE, write_all

Sealing = Callable[[], Seals]
"""The keys that are at hand now."""
PIECE_BYTES: Final = 1 << 20
PARTS_MAX: Final = 256
"""Frames have two parts each; what has more is joined first."""


def pread_of(fd: int) -> Pread:
    return lambda position, length: os.pread(fd, length, position)


def look(path: str, fd: int, pread: Pread, seals: Seals) -> SealedFile | None:
    """A file that is open; None if it is plain. A key that is missing is an OSError that says so."""
    if not holds_records(path):
        return None
    with readable(path):
        return open_file(pread, os.fstat(fd).st_size, seals)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """What is wrong with keys or heads is an error of this one file, and not the end of its disk."""
    try:
        yield
    except PenstockError as fault:
        raise OSError(errno.EBADMSG, str(fault), path) from None


def write(path: str, fd: int, sealed: SealedFile, data: Buffer) -> None:
    """Append, behind what counts: what a torn append has left goes first."""
    if os.fstat(fd).st_size != sealed.physical_size:
        os.ftruncate(fd, sealed.physical_size)
    write_on(path, fd, sealed, data)


def write_on(path: str, fd: int, sealed: SealedFile, data: Buffer) -> None:
    """The same where it is known that nothing is torn."""
    try:
        parts = sealed.seal(data)
    except PenstockError as fault:
        raise OSError(errno.EBADMSG, str(fault), path) from None
    if len(parts) > PARTS_MAX:
        parts = [b"".join(parts)]
    written = os.writev(fd, parts)
    if written != sum(map(len, parts)):
        write_all(fd, memoryview(b"".join(parts))[written:])


def truncate(path: str, size: int, seals: Seals) -> SealedFile | None:
    """Cut a file; gives what is known of it then, None of a plain one."""
    with opened(path, APPEND_FLAGS) as fd:
        pread = pread_of(fd)
        sealed = look(path, fd, pread, seals)
        if sealed is None:
            os.ftruncate(fd, size)
            return None
        with readable(path):
            cut = sealed.cut(pread, size, seals)
        if cut is None:
            return sealed
        os.ftruncate(fd, cut.physical_size)
        write_all(fd, b"".join(cut.tail))
        return cut.file


def size_of(path: str, seals: Seals) -> int:
    """How many bytes of the plain file there are."""
    with opened(path, os.O_RDONLY) as fd:
        sealed = look(path, fd, pread_of(fd), seals)
        return os.fstat(fd).st_size if sealed is None else sealed.end


def append(path: str, data: Buffer, seals: Seals) -> None:
    """Append to a file that nobody has open."""
    with opened(path, APPEND_FLAGS | os.O_CREAT) as fd:
        sealed = look(path, fd, pread_of(fd), seals)
        if sealed is None:
            write_all(fd, data)
        else:
            write(path, fd, sealed, data)


@contextmanager
def opened(path: str, flags: int) -> Iterator[int]:
    fd = os.open(path, flags, FILE_MODE)
    try:
        yield fd
    finally:
        os.close(fd)


def plain_bytes(path: str, seals: Seals) -> Buffer | None:
    """All of a sealed file, in memory; None of a plain one."""
    with opened(path, os.O_RDONLY) as fd:
        sealed = look(path, fd, pread_of(fd), seals)
        if sealed is None or not sealed.end:
            return None if sealed is None else b""
        found = mmap.mmap(-1, sealed.end)
        for data in pieces_of(fd, sealed):
            found.write(data)
        return memoryview(found)


def pieces_of(fd: int, sealed: SealedFile | None) -> Iterator[bytes]:
    """The plain bytes of an open file, one piece after the other."""
    pread, position = pread_of(fd), 0
    while True:
        data = bytes(pread(position, PIECE_BYTES) if sealed is None else sealed.read(pread, position, PIECE_BYTES))
        if not data:
            return
        yield data
        position += len(data)
