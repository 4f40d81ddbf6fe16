"""One process per data folder: a lock that the system releases even when the process is killed."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable
from typing import Final, TypeVar

LOCK_FILE = ".lock"
_GLANCES_MAX = 5
_GLANCE_SECONDS = 0.01

KINDS_ARE_APART: Final = sys.platform == "linux"
"""Whether the system's two kinds of locks know nothing of each other. On macOS one keeps the other out, also where both
are of the same process."""

T = TypeVar("T")


class FolderLocked(Exception):
    """Somebody else has the folder."""


class FolderLock:
    """Held from construction to `release`."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._fd = os.open(os.path.join(folder, LOCK_FILE), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if not outlast_glances(lambda: try_lock(self._fd) or None):
                raise BlockingIOError
            # The kind of lock that Java takes: a Kafka can be started in the same folder, but not at the same time.
            if KINDS_ARE_APART:
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


def is_locked(folder: str) -> bool:
    """Whether a process has a folder now."""
    try:
        fd = os.open(os.path.join(folder, LOCK_FILE), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def outlast_glances(attempt: Callable[[], T | None]) -> T | None:
    """What an attempt gives, or None if it still gives nothing after some patience. Whoever only wants to know takes a
    lock for an instant: whoever wants to have it lets such a glance pass."""
    for _ in range(_GLANCES_MAX):
        if (found := attempt()) is not None:
            return found
        time.sleep(_GLANCE_SECONDS)
    return attempt()


def try_lock(fd: int) -> bool:
    """Lock a file as long as its descriptor is open, if nobody else has."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
