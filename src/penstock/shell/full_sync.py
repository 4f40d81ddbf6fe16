"""Syncs that reach the disk itself. On macOS fsync only hands over what was written, to a disk that may keep it in a
cache of its own and lose it with the power: F_FULLFSYNC is what waits there for the disk."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from typing import Final

from penstock.core.base.ports import PASSING

FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
"""The request, on systems where fsync is not enough."""
_DOES_NOT_KNOW_IT: Final = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)
"""What file systems answer that are not on a disk of this machine; nothing was begun then."""


def sync_data(fd: int) -> None:
    """What is in a file, and its size; its times may be left out."""
    sync_descriptor(fd, getattr(os, "fdatasync", os.fsync))


def sync_whole(fd: int) -> None:
    """All of a file or a folder."""
    sync_descriptor(fd, os.fsync)


def hand_over(fd: int) -> None:
    """As far as the disk, whose cache somebody empties afterwards for many at once."""
    _passing_for_good(fd, os.fsync)


def sync_path(path: str, sync: Callable[[int], None] = sync_whole) -> None:
    """Sync a file or a folder that is not open."""
    fd = os.open(path, os.O_RDONLY)
    try:
        sync(fd)
    finally:
        os.close(fd)


def sync_descriptor(fd: int, sync: Callable[[int], None]) -> None:
    """As the system says that it is done, `sync` where that is all there is."""
    _passing_for_good(fd, sync if FULL_SYNC is None else _fully)


def _fully(fd: int) -> None:
    assert FULL_SYNC is not None
    try:
        fcntl.fcntl(fd, FULL_SYNC)
    except OSError as error:
        if error.errno not in _DOES_NOT_KNOW_IT:
            raise
        os.fsync(fd)


def _passing_for_good(fd: int, sync: Callable[[int], None]) -> None:
    """A sync that has begun is never tried again, whatever its failure is called."""
    try:
        sync(fd)
    except OSError as error:
        if error.errno in PASSING:
            raise OSError(errno.EIO, str(error)) from error
        raise
