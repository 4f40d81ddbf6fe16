"""A long list, one page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

PAGE_ITEMS: Final = 50
T = TypeVar("T")


class Slice(NamedTuple, Generic[T]):
    """Some items, and where they stand among all."""

    items: Sequence[T]
    number: int
    pages: int
    total: int


def page_of(items: Sequence[T], number: int, size: int = PAGE_ITEMS) -> Slice[T]:
    """Pages count from 1; beyond the last one is the last one."""
    pages = max(1, -(-len(items) // size))
    number = min(max(number, 1), pages)
    return Slice(items[(number - 1) * size : number * size], number, pages, len(items))
