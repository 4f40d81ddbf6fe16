"""Open files within a bound: 10,000 partitions do not need 10,000 descriptors."""

from __future__ import annotations

import os
from collections import OrderedDict

from penstock.core.base.ports import File

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


class Descriptors:
    """Opens files when they are used; the one opened longest ago and pinned by nobody is closed for a new one.

    Only the thread of the loop comes here, so that a descriptor is never closed under an append.
    """

    def __init__(self, open_files_max: int) -> None:
        self._max = open_files_max
        self._open: OrderedDict[int, File] = OrderedDict()

    def open(self, file: File, create: bool) -> int:
        if file.fd >= 0:
            return file.fd
        file.fd = os.open(file.path, _FLAGS | (os.O_CREAT if create else 0), 0o644)
        self._open[file.fd] = file
        if len(self._open) > self._max:
            self._close_oldest(file)
        return file.fd

    def pin(self, file: File) -> None:
        file.pins += 1

    def unpin(self, file: File) -> None:
        file.pins -= 1
        if file.pins == 0 and file.fd >= 0 and self._open.get(file.fd) is not file:
            os.close(file.fd)
            file.fd = -1

    def forget(self, file: File) -> None:
        """The file's name goes: close it, unless a reader holds it; then its last reader closes it."""
        if file.fd >= 0:
            self._open.pop(file.fd, None)
            if file.pins == 0:
                os.close(file.fd)
                file.fd = -1

    def close_all(self) -> None:
        while self._open:
            self._close(self._open.popitem()[1])

    def _close_oldest(self, newest: File) -> None:
        for fd, file in self._open.items():
            if file.pins == 0 and file is not newest:
                del self._open[fd]
                self._close(file)
                return

    def _close(self, file: File) -> None:
        os.close(file.fd)
        file.fd = -1
