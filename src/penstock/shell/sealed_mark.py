"""The mark in a data folder that says that something in it may be sealed: all that a node without keys looks for."""

from __future__ import annotations

import os
from typing import Final

_MARK: Final = ".penstock-sealed"


def is_marked(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, _MARK))


def mark(folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, _MARK), "a", encoding="ascii"):
        pass


def unmark(folder: str) -> None:
    os.unlink(os.path.join(folder, _MARK))
