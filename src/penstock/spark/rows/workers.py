"""What a Python worker of Spark does before its first tasks."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

# Spark imports half of what it needs when the first task is already running.
SETTLING_TASKS: Final = 3
# What a reading task has in hand at once: the answer it decodes, one that waits, one that comes in, and some columns.
KEPT_BYTES_MAX: Final = 64 * 1024 * 1024
# The largest block that the C library takes from what it has kept, in every version of it.
KEPT_BLOCK_BYTES_MAX: Final = 32 * 1024 * 1024

# As the C library numbers its settings.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3

_tasks = 0


def settle() -> None:
    """Spark's workers look for garbage after every task, among everything that was ever imported: 30 to 50 ms in which
    the next task waits, ten times what a small one takes. What is there now is going to stay, and need not be looked
    at again."""
    global _tasks
    if _tasks == 0:
        _keep_memory()
    if _tasks < SETTLING_TASKS:
        _tasks += 1
        gc.collect()
        gc.freeze()


def _keep_memory() -> None:
    """Answers of megabytes come and go all the time. Left alone the C library gives their memory back, and the system
    clears every page of it before it is used again, up to 35,000 pages for 400 MB that are read."""
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES_MAX)
        mallopt(_MMAP_THRESHOLD, KEPT_BLOCK_BYTES_MAX)
