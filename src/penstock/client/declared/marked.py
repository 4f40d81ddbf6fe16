"""What a YAML file holds, with the place of each thing in it, so that whatever is wrong can be pointed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.core.base.errors import PenstockError


class Mark(NamedTuple):
    """A place in a file, counted from 1 as editors do."""

    line: int
    column: int


class FileError(PenstockError):
    """Something in the file is wrong, or cannot be done; says where, and what is expected."""

    def __init__(self, mark: Mark, message: str, hint: str | None = None) -> None:
        super().__init__(f"{mark.line}:{mark.column}: {message}")
        self.mark = mark
        self.hint = hint


class Scalar(NamedTuple):
    """A text. What it means, a number or a word, only its reader knows."""

    text: str
    mark: Mark
    is_plain: bool = True

    @property
    def is_null(self) -> bool:
        return self.is_plain and self.text in ("", "~", "null")


class Items(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    mark: Mark


class Entries(NamedTuple):
    """Keys and values, in their order; no key comes twice."""

    entries: tuple[tuple[Scalar, Node], ...]
    mark: Mark


Node = Scalar | Items | Entries

Value = str | int | float | bool | Sequence["Value"] | Mapping[str, "Value"]
"""What is written; it has no place yet."""
