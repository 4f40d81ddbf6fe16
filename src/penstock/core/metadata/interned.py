"""Interned values: each distinct value is kept once and known by a small number, so that a million partitions need
arrays of numbers and not a million objects.

Tables are shared by every image of the process and never shrink. What they hold is bounded by how many different
replica sets a cluster uses, not by how many partitions there are. Each table also knows which of its values name a
broker: a scan for the partitions of one broker compares numbers, and looks at no set.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


def _nobody(value: object) -> Iterable[int]:
    return ()


class Interned(Generic[V]):
    """A table of values; number 0 is the empty one, which most partitions have."""

    __slots__ = ("_codes", "_holders", "_members", "values")

    def __init__(self, empty: V, members: Callable[[V], Iterable[int]] = _nobody) -> None:
        self.values: list[V] = []
        self._codes: dict[V, int] = {}
        self._members = members
        self._holders: dict[int, set[int]] = {}
        self.code(empty)

    def code(self, value: V) -> int:
        found = self._codes.get(value)
        if found is not None:
            return found
        added = self._codes[value] = len(self.values)
        self.values.append(value)
        for member in self._members(value):
            self._holders.setdefault(member, set()).add(added)
        return added

    def holding(self, member: int) -> set[int]:
        """The numbers of all values that name a broker."""
        return self._holders.get(member, set())


class Column(Generic[V]):
    """One value per partition, stored as numbers of an `Interned` table. Reads like a list."""

    __slots__ = ("codes", "table")

    def __init__(self, table: Interned[V], codes: array[int] | None = None) -> None:
        self.table = table
        self.codes: array[int] = array("i") if codes is None else codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> V:
        return self.table.values[self.codes[index]]

    def __iter__(self) -> Iterator[V]:
        return map(self.table.values.__getitem__, self.codes)

    def copy(self) -> Column[V]:
        return Column(self.table, self.codes[:])

    def put(self, index: int, value: V) -> None:
        """Set one value; the next index appends."""
        if index == len(self.codes):
            self.codes.append(self.table.code(value))
        else:
            self.codes[index] = self.table.code(value)
