"""Rounds over all ids: again and again after some time, and some hundred of them in each turn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import islice

from penstock.core.rsm.result import Timers


class Round:
    """One kind of round. Its timer comes back for each part of it, and then for the next round."""

    __slots__ = ("_interval_ms", "_key", "_left", "_names_max", "_timers")

    def __init__(self, timers: Timers, key: Hashable, interval_ms: int, names_max: int) -> None:
        self._timers = timers
        self._key = key
        self._interval_ms = interval_ms
        self._names_max = names_max
        self._left: list[str] = []

    def begin(self, now_ms: int, delay_ms: int | None = None) -> None:
        """The next round is due."""
        self._timers.set(self._key, now_ms + (self._interval_ms if delay_ms is None else delay_ms))

    def part(self, now_ms: int, names: Iterable[str]) -> list[str]:
        """Whom to look at now. `names` are all of them, at the time when a round begins."""
        left = self._left or list(names)
        found = list(islice(left, self._names_max))
        self._left = left[self._names_max :]
        self.begin(now_ms, 0 if self._left else None)
        return found
