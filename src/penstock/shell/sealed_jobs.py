"""What jobs touch where files are sealed: they get the keys with their work, over the pipe that it comes through."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from penstock.core.base.ports import Buffer, JobFiles
from penstock.core.sealing.keys import KeyRing
from penstock.core.sealing.sealed_file import SealedFile, Seals
from penstock.shell import sealed_paths
from penstock.shell.aes_gcm import AesGcm
from penstock.shell.descriptors import write_all
from penstock.shell.entropy import SystemEntropy
from penstock.shell.jobs import RealJobFiles
from penstock.shell.sealed_paths import pread_of


class SealedJobFiles(RealJobFiles):
    """Implements `JobFiles`, with keys."""

    def __init__(self, seals: Seals) -> None:
        super().__init__()
        self._seals = seals
        self._sealed: dict[str, SealedFile | None] = {}

    def size(self, path: str) -> int:
        sealed = self._look(path)
        return super().size(path) if sealed is None else sealed.end

    def read(self, path: str, position: int, length: int) -> bytes:
        sealed = self._look(path)
        if sealed is None:
            return super().read(path, position, length)
        return sealed.read(pread_of(self._fd(path)), position, length)

    def append(self, path: str, data: Buffer) -> None:
        sealed = self._look(path, os.O_CREAT)
        if sealed is None:
            write_all(self._fd(path), data)
        else:
            sealed_paths.write(path, self._fd(path), sealed, data)

    def unlink(self, path: str) -> None:
        self._sealed.pop(path, None)
        super().unlink(path)

    def _look(self, path: str, create: int = 0) -> SealedFile | None:
        if path not in self._sealed:
            fd = self._fd(path, create)
            self._sealed[path] = sealed_paths.look(path, fd, pread_of(fd), self._seals)
        return self._sealed[path]


def with_keys(_: JobFiles, ring: KeyRing, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Do a job whose files are sealed."""
    files = SealedJobFiles(Seals(ring, AesGcm, SystemEntropy()))
    try:
        return function(files, *args)
    finally:
        files.close()
