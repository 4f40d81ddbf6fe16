"""A disk that can be filled and emptied: a real small one where this account may mount one, else a counted one."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

DISK_BYTES = 16 << 20
BALLAST_BYTES = 1 << 16


class SmallDisk(Protocol):
    folder: Path

    def fill(self) -> None: ...
    def free(self) -> None: ...


class MountedDisk:
    """A file system in memory with a size."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as ballast, suppress(OSError):
            while ballast.write(bytes(BALLAST_BYTES)):
                pass
        assert shutil.disk_usage(self.folder).free == 0

    def free(self) -> None:
        self._ballast.unlink()


class CountedDisk:
    """Writes to files fail while it is full; half of each goes through, as on a real one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self.is_full = False
        self._write = os.write

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        if self.is_full and stat.S_ISREG(os.fstat(fd).st_mode):
            if len(data) < 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self._write(fd, memoryview(data)[: len(data) // 2])
        return self._write(fd, data)

    def fill(self) -> None:
        self.is_full = True

    def free(self) -> None:
        self.is_full = False


def try_mount(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


@contextmanager
def small_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    folder.mkdir(exist_ok=True)
    if try_mount(folder):
        try:
            yield MountedDisk(folder)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
    else:
        with counted_disk(folder, monkeypatch) as disk:
            yield disk


@contextmanager
def counted_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    disk = CountedDisk(folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", disk.write)
        yield disk
