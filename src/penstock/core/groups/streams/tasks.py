"""Tasks by subtopology and number, and the three ways in which a member may have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

Tasks = Mapping[str, frozenset[int]]
"""Numbers by subtopology; no subtopology without one."""


class Task(NamedTuple):
    """One of them."""

    subtopology: str
    number: int


class Roles(NamedTuple):
    """What is worked on, what is kept as a copy, and what is being copied to be worked on later."""

    active: Tasks
    standby: Tasks
    warmup: Tasks

    def touches(self, other: Roles) -> bool:
        """Whether a task is in both, in the same role."""
        return any(
            not numbers.isdisjoint(theirs.get(name, ()))
            for own, theirs in zip(self, other, strict=True)
            for name, numbers in own.items()
        )

    def is_within(self, other: Roles) -> bool:
        return all(
            numbers <= theirs.get(name, frozenset())
            for own, theirs in zip(self, other, strict=True)
            for name, numbers in own.items()
        )

    @property
    def is_nothing(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    @property
    def size_bytes(self) -> int:
        return sum(len(name) + 8 * len(numbers) for tasks in self for name, numbers in tasks.items())


NO_TASKS: Final = Roles({}, {}, {})


def by_subtopology(tasks: Iterable[Task]) -> Tasks:
    found: dict[str, set[int]] = {}
    for name, number in tasks:
        found.setdefault(name, set()).add(number)
    return {name: frozenset(numbers) for name, numbers in sorted(found.items())}


def each_of(tasks: Tasks) -> set[Task]:
    return {Task(name, number) for name, numbers in tasks.items() for number in numbers}


def read(stored: Iterable[Any] | None) -> Tasks:
    """Of any message that has them."""
    return by_subtopology(Task(each.subtopology_id, number) for each in stored or () for number in each.partitions)
