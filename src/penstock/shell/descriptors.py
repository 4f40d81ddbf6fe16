"""Open files within a bound: 10,000 partitions do not need 10,000 descriptors."""

from __future__ import annotations

import errno
import os
import resource
import weakref
from collections import OrderedDict

from penstock.core.base.ports import Buffer, File

APPEND_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
FILE_MODE = 0o644
PROCESS_FILES_MAX = 1 << 20
"""No process needs more, and some systems make one slow that may open more."""

DESCRIPTORS_RESERVED_MAX = 256
"""Kept free beside files and clients, where the process may have that many; else a quarter of all."""
CONNECTIONS_MIN = 4
LACK_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


def write_all(fd: int, data: Buffer) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def raise_files_limit() -> None:
    """Take all that the system grants on request, as servers do: the usual limit is for programs that use `select`."""
    given, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, wanted = _finite(given), _finite(hard)
    while soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            # macOS calls the limit endless, and refuses more than some other number of its own.
            wanted //= 2
        else:
            return


def files_allowed(wanted_max: int) -> int:
    """How many files may be kept open, if so many are wanted: half of what the process may open is for connections."""
    return min(wanted_max, _finite(resource.getrlimit(resource.RLIMIT_NOFILE)[0]) // 2)


def connections_allowed(files_max: int) -> int:
    """How many connections of clients there may be beside so many files: what is left when something is kept for other
    nodes, workers, listeners, and what is opened for a moment."""
    limit = _finite(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return max(limit - files_max - min(DESCRIPTORS_RESERVED_MAX, limit // 4), CONNECTIONS_MIN)


def _finite(limit: int) -> int:
    return PROCESS_FILES_MAX if limit == resource.RLIM_INFINITY else min(limit, PROCESS_FILES_MAX)


class Descriptors:
    """Opens files when they are used; the one opened longest ago and pinned by nobody is closed for a new one, and so
    is one whose `File` nobody holds any longer.

    Only the thread of the loop opens and evicts, so that a descriptor is never closed under an append.
    """

    def __init__(self, open_files_max: int) -> None:
        self._max = open_files_max
        self._open: OrderedDict[int, weakref.ref[File]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, file: File, create: bool) -> int:
        if file.fd >= 0:
            return file.fd
        flags = APPEND_FLAGS | (os.O_CREAT if create else 0)
        try:
            fd = os.open(file.path, flags, FILE_MODE)
        except OSError as error:
            # Others have taken more than was counted on: one of our own makes room for this one.
            if error.errno not in LACK_OF_DESCRIPTORS or not self._close_oldest(file):
                raise
            fd = os.open(file.path, flags, FILE_MODE)
        file.fd = fd
        self._open[fd] = weakref.ref(file, lambda _: self._dropped(fd))
        if len(self._open) > self._max:
            self._close_oldest(file)
        return fd

    def pin(self, file: File) -> None:
        file.pins += 1

    def unpin(self, file: File) -> None:
        file.pins -= 1
        if file.pins == 0 and file.fd >= 0 and file.fd not in self._open:
            self._close(file)

    def forget(self, file: File) -> None:
        """The file's name goes: close it, unless a reader holds it; then its last reader closes it."""
        if file.fd >= 0:
            self._open.pop(file.fd, None)
            if file.pins == 0:
                self._close(file)

    def close_all(self) -> None:
        while self._open:
            fd, reference = self._open.popitem()
            file = reference()
            if file is not None:
                file.fd = -1
            os.close(fd)

    def _close_oldest(self, newest: File) -> bool:
        for fd, reference in self._open.items():
            file = reference()
            if file is not None and file is not newest and file.pins == 0:
                del self._open[fd]
                self._close(file)
                return True
        return False

    def _dropped(self, fd: int) -> None:
        """The last one who held the file has let go of it."""
        if self._open.pop(fd, None) is not None:
            os.close(fd)

    def _close(self, file: File) -> None:
        os.close(file.fd)
        file.fd = -1
