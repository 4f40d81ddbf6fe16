"""How to tell whether a folder may have lost what was written to it: not while it is the same, its machine runs, and
its file system stays mounted."""

from __future__ import annotations

import os
from typing import Final

from penstock.shell.mount import mount_name

BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
"""Linux draws it when the kernel starts. A container has that of its kernel, another machine has another."""


def boot_id(folder: str, source: str = BOOT_ID) -> str | None:
    """A name for the time since this machine was started, this folder made, and the file system mounted that it is in;
    None where the system has none, and then nothing written is trusted to be there. A folder that was put back from a
    copy is another one."""
    try:
        with open(source, encoding="ascii") as file:
            kernel = file.read().strip()
        found, mount = os.stat(folder), mount_name(folder)
    except (OSError, ValueError):
        return None
    return f"{kernel}:{found.st_dev}:{found.st_ino}:{mount}" if kernel else None
