"""One heap for everything that happens at a time. Cancelled entries stay until they surface, or until they are many:
nearly every request that waits has a deadline, and nearly none of these is reached."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from typing import Final

SWEPT_LENGTH_MIN: Final = 256


class Deadline:
    """A call that is due at a time, unless it is cancelled before."""

    __slots__ = ("at_ms", "call")

    def __init__(self, at_ms: int, call: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Deadlines:
    """All deadlines of a node, earliest first; equal times run in the order they were asked for."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Deadline]] = []
        self._order = 0
        self._length_max = SWEPT_LENGTH_MIN
        self.now_ms = 0
        """The time of this turn, as whoever begins it says."""

    def __len__(self) -> int:
        """How many are kept, those that are cancelled too."""
        return len(self._heap)

    def at(self, at_ms: int, call: Callable[[], None]) -> Deadline:
        self._order += 1
        deadline = Deadline(at_ms, call)
        heappush(self._heap, (at_ms, self._order, deadline))
        if len(self._heap) > self._length_max:
            self._sweep()
        return deadline

    def soon(self, call: Callable[[], None]) -> Deadline:
        """When everybody was heard who has something to say already: the world runs what is due now in its next round,
        behind the sockets that are ready."""
        return self.at(self.now_ms, call)

    def next_ms(self) -> int | None:
        heap = self._heap
        while heap and heap[0][2].call is None:
            heappop(heap)
        return heap[0][0] if heap else None

    def shift(self, step_ms: int) -> None:
        """The clock was set by this much: everything is due as far from now as it was."""
        for _, _, deadline in self._heap:
            deadline.at_ms += step_ms
        # Nobody overtakes anybody, so a heap stays a heap.
        self._heap[:] = [(at_ms + step_ms, order, deadline) for at_ms, order, deadline in self._heap]

    def run_due(self, now_ms: int) -> None:
        """Run what is due; what these calls add for the same time waits for the next turn."""
        heap, due = self._heap, []
        while heap and heap[0][0] <= now_ms:
            due.append(heappop(heap)[2])
        for deadline in due:
            if deadline.call is not None:
                deadline.call()

    def _sweep(self) -> None:
        """Let go of what is cancelled; and not again before as many have come as are left, so that each pays once."""
        self._heap[:] = [entry for entry in self._heap if entry[2].call is not None]
        heapify(self._heap)
        self._length_max = max(SWEPT_LENGTH_MIN, 2 * len(self._heap))


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
