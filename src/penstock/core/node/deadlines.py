"""One heap for everything that happens at a time. Cancelled entries stay until they surface, which keeps it cheap."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import heappop, heappush


class Deadline:
    """A call that is due at a time, unless it is cancelled before."""

    __slots__ = ("at_ms", "call", "order")

    def __init__(self, at_ms: int, order: int, call: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.order = order
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None

    def __lt__(self, other: Deadline) -> bool:
        return (self.at_ms, self.order) < (other.at_ms, other.order)


class Deadlines:
    """All deadlines of a node, earliest first; equal times run in the order they were asked for."""

    def __init__(self) -> None:
        self._heap: list[Deadline] = []
        self._order = 0

    def at(self, at_ms: int, call: Callable[[], None]) -> Deadline:
        self._order += 1
        deadline = Deadline(at_ms, self._order, call)
        heappush(self._heap, deadline)
        return deadline

    def next_ms(self) -> int | None:
        heap = self._heap
        while heap and heap[0].call is None:
            heappop(heap)
        return heap[0].at_ms if heap else None

    def shift(self, step_ms: int) -> None:
        """The clock was set by this much: everything is due as far from now as it was."""
        for deadline in self._heap:
            deadline.at_ms += step_ms

    def run_due(self, now_ms: int) -> None:
        """Run what is due; what these calls add for the same time waits for the next turn."""
        heap, due = self._heap, []
        while heap and heap[0].at_ms <= now_ms:
            due.append(heappop(heap))
        for deadline in due:
            if deadline.call is not None:
                deadline.call()


class KeyedTimers:
    """The `Timers` of one machine: deadlines by key, on the node's heap."""

    def __init__(self, deadlines: Deadlines, fire: Callable[[Hashable], None]) -> None:
        self._deadlines = deadlines
        self._fire = fire
        self._set: dict[Hashable, Deadline] = {}

    def set(self, key: Hashable, deadline_ms: int) -> None:
        self.cancel(key)
        self._set[key] = self._deadlines.at(deadline_ms, lambda: self._due(key))

    def cancel(self, key: Hashable) -> None:
        deadline = self._set.pop(key, None)
        if deadline is not None:
            deadline.cancel()

    def clear(self) -> None:
        for key in list(self._set):
            self.cancel(key)

    def _due(self, key: Hashable) -> None:
        del self._set[key]
        self._fire(key)
