"""Everything below a folder to the disk: by one call of the system where it has one, file by file elsewhere."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable
from functools import cache

from penstock.core.base.ports import PASSING
from penstock.shell.full_sync import hand_over, sync_path

SYNCFS_TELLS_ERRORS_FROM = (5, 8)
"""Linux before this version has the call but keeps to itself what could not be written."""


def sync_tree(path: str) -> None:
    """Raises OSError where anything could not be written."""
    fd = os.open(path, os.O_RDONLY)
    try:
        syncfs = _syncfs()
        if syncfs is None:
            _sync_each(path)
        elif (code := syncfs(fd)) != 0:
            raise OSError(errno.EIO if code in PASSING else code, os.strerror(code), path)
    finally:
        os.close(fd)


@cache
def _syncfs() -> Callable[[int], int] | None:
    """The system's call, which gives 0 or the number of its error, if there is one that tells its errors."""
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if sys.platform != "linux" or release is None:
        return None
    if (int(release[1]), int(release[2])) < SYNCFS_TELLS_ERRORS_FROM:
        return None
    # It is slow to load, and a node with few logs never comes here.
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    return None if call is None else lambda fd: ctypes.get_errno() if call(fd) else 0


def _sync_each(path: str) -> None:
    """What is handed over to the disk one by one, it writes to the end when it is told to for the last."""
    for folder, _, names in os.walk(path, onerror=_raise):
        for each in (*(f"{folder}/{name}" for name in names), folder):
            sync_path(each, hand_over)
    sync_path(path)


def _raise(error: OSError) -> None:
    raise error
