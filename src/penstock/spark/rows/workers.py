"""What a Python worker of Spark does before its first tasks."""

from __future__ import annotations

import gc
from typing import Final

# Spark imports half of what it needs when the first task is already running.
SETTLING_TASKS: Final = 3

_tasks = 0


def settle() -> None:
    """Spark's workers look for garbage after every task, among everything that was ever imported: 30 to 50 ms in which
    the next task waits, ten times what a small one takes. What is there now is going to stay, and need not be looked
    at again."""
    global _tasks
    if _tasks < SETTLING_TASKS:
        _tasks += 1
        gc.collect()
        gc.freeze()
