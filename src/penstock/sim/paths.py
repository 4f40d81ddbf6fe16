"""What lies between machines: each direction of each pair is open, slow, or closed.

A closed direction loses nothing for ever, because the two ends repeat what was not confirmed, as TCP does: whatever
was on its way waits, and goes on some time after the direction is open again. Whoever does not want to wait that long
hangs up. Faults overlap, so closings are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

K = TypeVar("K")
Way = tuple[int, int]
"""From one machine to another, by their numbers."""

CLIENTS: Final = 0
"""Where all clients are, as seen from the machines."""


class Paths:
    """Every direction between machines."""

    def __init__(self) -> None:
        self._closed: Counter[Way] = Counter()
        self._dark: Counter[int] = Counter()
        self._slow_us: Counter[Way] = Counter()
        self._held: list[tuple[Way, Callable[[], None]]] = []

    def is_open(self, way: Way) -> bool:
        """Whether something that is sent now arrives. A machine always reaches itself."""
        if not self._closed and not self._dark:
            return True
        origin, target = way
        return origin == target or not (way in self._closed or origin in self._dark or target in self._dark)

    def slow_us(self, way: Way) -> int:
        """By how much everything is late."""
        return self._slow_us[way] if self._slow_us else 0

    def hold(self, way: Way, action: Callable[[], None]) -> None:
        """Let something wait for its direction to open."""
        self._held.append((way, action))

    # ---- faults

    def close(self, *ways: Way) -> None:
        for way in ways:
            self._closed[way] += 1

    def reopen(self, *ways: Way) -> list[Callable[[], None]]:
        """End a closing; gives what can go on now."""
        for way in ways:
            _take(self._closed, way, 1)
        return self._released()

    def darken(self, number: int) -> None:
        """Nobody reaches a machine, and it reaches nobody."""
        self._dark[number] += 1

    def relight(self, number: int) -> list[Callable[[], None]]:
        _take(self._dark, number, 1)
        return self._released()

    def slow(self, by_us: int, *ways: Way) -> None:
        for way in ways:
            self._slow_us[way] += by_us

    def unslow(self, by_us: int, *ways: Way) -> None:
        for way in ways:
            _take(self._slow_us, way, by_us)

    def _released(self) -> list[Callable[[], None]]:
        free = [action for way, action in self._held if self.is_open(way)]
        self._held = [(way, action) for way, action in self._held if not self.is_open(way)]
        return free


def _take(counts: Counter[K], key: K, amount: int) -> None:
    counts[key] -= amount
    assert counts[key] >= 0, "a fault has ended that had not begun"
    if not counts[key]:
        del counts[key]
