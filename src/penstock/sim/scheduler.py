"""Virtual time: a heap of events, run one by one.

Time moves only from event to event. Events of the same microsecond run in the order in which they were asked for,
which makes the order a fact of the seed and not of the heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

MS = 1_000
SECOND = 1_000_000
EPOCH_MS = 1_700_000_000_000
"""When the world begins, in milliseconds since 1970."""
MOMENT_EVENTS_MAX = 100_000


class StandsStill(Exception):
    """Somebody does something again and again without ever waiting: a machine would be busy for ever."""


class Event:
    """Something that will happen, unless cancelled."""

    __slots__ = ("action", "cancelled")

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action
        self.cancelled = False

    def cancel(self) -> None:
        """Make it not happen; harmless when it already has."""
        self.cancelled = True


class Scheduler:
    """The world's clock and its future."""

    def __init__(self) -> None:
        self.now_us = 0
        self.events_run = 0
        self._moment_began_at = 0
        self._order = 0
        self._heap: list[tuple[int, int, Event]] = []  # By time, then by order; no two have the same order.

    def at(self, at_us: int, action: Callable[[], None]) -> Event:
        """Let `action` happen at a time, or now at the earliest, but never inside the present event."""
        self._order += 1
        event = Event(action)
        heapq.heappush(self._heap, (max(at_us, self.now_us), self._order, event))
        return event

    def after(self, delay_us: int, action: Callable[[], None]) -> Event:
        """Let `action` happen once this much time has passed."""
        return self.at(self.now_us + delay_us, action)

    def step(self) -> bool:
        """Run the next event; False when nothing is left to happen."""
        if self._next_at_us() is None:
            return False
        self._run_first()
        return True

    def run_until(self, at_us: int) -> None:
        """Run everything that happens up to a time, and let that time come."""
        heap, run_first = self._heap, self._run_first
        while heap and heap[0][0] <= at_us:
            run_first()
        self.now_us = max(self.now_us, at_us)

    def run_while(self, busy: Callable[[], bool], until_us: int) -> bool:
        """Run events while `busy()`; False when the time came, or nothing was left, and it still was."""
        while busy():
            next_us = self._next_at_us()
            if next_us is None or next_us > until_us:
                return False
            self._run_first()
        return True

    def _next_at_us(self) -> int | None:
        heap = self._heap
        while heap and heap[0][2].cancelled:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def _run_first(self) -> None:
        at_us, _, event = heapq.heappop(self._heap)
        if event.cancelled:
            return
        if at_us > self.now_us:
            self.now_us, self._moment_began_at = at_us, self.events_run
        elif self.events_run - self._moment_began_at > MOMENT_EVENTS_MAX:
            raise StandsStill(f"{MOMENT_EVENTS_MAX} events happened and no time has passed")
        self.events_run += 1
        event.action()
