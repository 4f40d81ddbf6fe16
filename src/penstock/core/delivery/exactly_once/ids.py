"""The transactional ids of a query. They stay the same for all its batches, so a successor fences who came before.

There are as many as tasks times attempts, and one for the driver. The last two parts of a task's id are always its
number and its attempt, so no two queries share one, whatever their names are.
"""

from __future__ import annotations

import re
from typing import Final

_TASK: Final = re.compile(r"(?P<query>.+)-(?:[a-z]\d+\.)?\d+-\d+", re.DOTALL)


def driver_id(query: str) -> str:
    return f"{query}-driver"


def task_id(query: str, task: str, attempt: int) -> str:
    """`task` is a number, or a number behind the name of a branch, such as `d0.3`."""
    return f"{query}-{task}-{attempt}"


def is_task_of(query: str, transactional_id: str) -> bool:
    found = _TASK.fullmatch(transactional_id)
    return found is not None and found["query"] == query
