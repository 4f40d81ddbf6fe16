"""Kafka's `sticky` assignor: every task has one member that works on it, and as many copies as are wanted elsewhere.

Members keep what they have worked on, then take over what they have a copy of, as far as that is not more than their
part; the rest goes to the process with the least work for each of its members. A process has a task once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.core.groups.streams.tasks import Roles, Task, by_subtopology, each_of


class Part(NamedTuple):
    """A subtopology, as far as it matters here."""

    tasks: int
    has_state: bool


class Worker(NamedTuple):
    """A member, and its target until now."""

    process_id: str
    before: Roles


def assign(parts: Mapping[str, Part], workers: Mapping[str, Worker], standbys: int) -> dict[str, Roles]:
    return _Assignment(parts, workers, standbys).made()


class _Room:
    """How many tasks each member may have: who has its part is left out, and the others share the rest."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members

    @property
    def each(self) -> int:
        return -(-self._tasks // self._members) if self._members > 0 else 0

    def now_has(self, count: int) -> None:
        if count == self.each:
            self._members -= 1
            self._tasks -= count


class _Assignment:
    """One that is being made."""

    def __init__(self, parts: Mapping[str, Part], workers: Mapping[str, Worker], standbys: int) -> None:
        self._workers = workers
        self._standbys = standbys
        self._tasks = [Task(name, number) for name, part in parts.items() for number in range(part.tasks)]
        self._stateful = [each for each in self._tasks if parts[each.subtopology].has_state]
        self._active: dict[str, set[Task]] = {each: set() for each in workers}
        self._standby: dict[str, set[Task]] = {each: set() for each in workers}
        self._members: dict[str, list[str]] = {}
        for member_id in sorted(workers):
            self._members.setdefault(workers[member_id].process_id, []).append(member_id)
        self._of_process: dict[str, set[Task]] = {each: set() for each in self._members}
        self._active_room = _Room(len(self._tasks), len(workers))
        self._room = _Room(len(self._tasks) + standbys * len(self._stateful), len(workers))
        self._worked = _owners(workers, "active")
        self._copied = _owners(workers, "standby")

    def made(self) -> dict[str, Roles]:
        left = sorted(self._tasks, key=lambda task: (task.number, task.subtopology))
        left = [each for each in left if not self._give_back(each, self._worked)]
        left = [each for each in left if not self._give_back(each, self._copied)]
        for task in sorted(left):
            self._give(task, self._least_busy(self._members), is_active=True)
        if self._standbys:
            self._copy()
        return {
            each: Roles(by_subtopology(self._active[each]), by_subtopology(self._standby[each]), {})
            for each in self._workers
        }

    def _give_back(self, task: Task, owners: Mapping[Task, list[str]]) -> bool:
        member_id = self._idlest(owners.get(task, ()))
        if member_id is None or self._count(member_id) >= self._active_room.each:
            return False
        self._give(task, member_id, is_active=True)
        return True

    def _copy(self) -> None:
        missing = []
        for task in sorted(self._stateful, key=lambda task: (task.number, task.subtopology), reverse=True):
            for copy in range(self._standbys):
                member_id = self._copier(task, self._worked) or self._copier(task, self._copied)
                if member_id is None:
                    missing.append((task, self._standbys - copy))
                    break
                self._give(task, member_id, is_active=False)
        for task, count in sorted(missing, reverse=True):
            for _ in range(count):
                processes = [each for each, has in self._of_process.items() if task not in has]
                if processes:
                    self._give(task, self._least_busy(processes), is_active=False)

    def _copier(self, task: Task, owners: Mapping[Task, list[str]]) -> str | None:
        return self._idlest(each for each in owners.get(task, ()) if self._may_copy(each, task))

    def _may_copy(self, member_id: str, task: Task) -> bool:
        has = self._of_process[self._workers[member_id].process_id]
        return task not in has and self._count(member_id) < self._room.each

    def _least_busy(self, processes: Iterable[str]) -> str:
        process = min(processes, key=lambda each: (self._load(each), each))
        return min(self._members[process], key=lambda each: (self._count(each), each))

    def _idlest(self, member_ids: Iterable[str]) -> str | None:
        return min(
            member_ids, key=lambda each: (self._load(self._workers[each].process_id), self._count(each)), default=None
        )

    def _give(self, task: Task, member_id: str, is_active: bool) -> None:
        (self._active if is_active else self._standby)[member_id].add(task)
        self._of_process[self._workers[member_id].process_id].add(task)
        count = self._count(member_id)
        if is_active:
            self._active_room.now_has(count)
        self._room.now_has(count)

    def _count(self, member_id: str) -> int:
        return len(self._active[member_id]) + len(self._standby[member_id])

    def _load(self, process: str) -> float:
        return len(self._of_process[process]) / len(self._members[process])


def _owners(workers: Mapping[str, Worker], role: str) -> dict[Task, list[str]]:
    found: dict[Task, list[str]] = {}
    for member_id in sorted(workers):
        for task in sorted(each_of(getattr(workers[member_id].before, role))):
            found.setdefault(task, []).append(member_id)
    return found
