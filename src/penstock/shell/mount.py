"""Which mount a folder is in. A file system that was unmounted has dropped what it could not write, without a word to
whoever comes next, and often gets its old device number and mount number back."""

from __future__ import annotations

import ctypes
import os
from typing import Final, NamedTuple

_MOUNTS: Final = "/proc/self/mountinfo"
_AT_FDCWD: Final = -100
_UNIQUE_ID: Final = 0x4000
"""STATX_MNT_ID_UNIQUE, since Linux 6.8: a number that no other mount gets until the next boot."""
_STATX_BYTES: Final = 256
_MOUNT_ID_AT: Final = 0x90
IN_MEMORY: Final = ("tmpfs", "ramfs")


class Mounted(NamedTuple):
    """A line of the system's list of mounts."""

    mount_id: str
    kind: str


def mount_name(folder: str) -> str:
    """A name that is another one after the file system was unmounted. That of the file system where it shows one
    (ext4, XFS, F2FS), because a mount is another one in each container; else that of the mount."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounted = mounted_at(number)
    if mounted is None:
        return f"mount {_unique_id(folder)}"
    try:
        block = os.path.basename(os.readlink(f"/sys/dev/block/{number}"))
        # The system makes this folder when it mounts the file system, and never gives its number again.
        return f"{mounted.kind} {os.stat(f'/sys/fs/{mounted.kind}/{block}').st_ino}"
    except OSError:
        return f"mount {_unique_id(folder) or mounted.mount_id}"


def is_in_memory(folder: str) -> bool:
    """Whether what is in a folder is on no disk."""
    try:
        device = os.stat(folder).st_dev
        mounted = mounted_at(f"{os.major(device)}:{os.minor(device)}")
    except OSError:
        return False
    return mounted is not None and mounted.kind in IN_MEMORY


def mounted_at(number: str) -> Mounted | None:
    """What is mounted of a device, by its numbers. The fields are those of `man 5 proc`."""
    with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split()
            if fields[2] == number:
                return Mounted(fields[0], fields[fields.index("-") + 1])
    return None


def _unique_id(folder: str) -> int:
    """0 where the system has none."""
    statx = getattr(ctypes.CDLL(None), "statx", None)
    found = ctypes.create_string_buffer(_STATX_BYTES)
    if statx is None or statx(_AT_FDCWD, os.fsencode(folder), 0, _UNIQUE_ID, found):
        return 0
    is_known = int.from_bytes(found.raw[:4], "little") & _UNIQUE_ID
    return int.from_bytes(found.raw[_MOUNT_ID_AT : _MOUNT_ID_AT + 8], "little") if is_known else 0
