"""One process per data folder: a lock that the system releases even when the process is killed."""

from __future__ import annotations

import fcntl
import os

LOCK_FILE = ".lock"


class FolderLocked(Exception):
    """Somebody else has the folder."""


class FolderLock:
    """Held from construction to `release`."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._fd = os.open(os.path.join(folder, LOCK_FILE), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The kind of lock that Java takes: a Kafka can be started in the same folder, but not at the same time.
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise FolderLocked(
                f"{folder} is in use by another process; stop that one, or use another data folder"
            ) from None

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
