"""How to tell whether a folder may have lost what was written to it: not while it is the same, and its machine runs."""

from __future__ import annotations

import os
from typing import Final

BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
"""Linux draws it when the kernel starts. A container has that of its kernel, another machine has another."""


def boot_id(folder: str, source: str = BOOT_ID) -> str | None:
    """A name for the time since this machine was started and this folder made; None where the system has none, and then
    nothing written is trusted to be there. A folder that was put back from a copy is another one."""
    try:
        with open(source, encoding="ascii") as file:
            kernel = file.read().strip()
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return f"{kernel}:{found.st_dev}:{found.st_ino}" if kernel else None
