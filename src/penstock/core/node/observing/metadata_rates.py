"""How fast metadata comes, and how long it takes to be committed: Kafka tells rates of these, over half a minute."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

WINDOW_US: Final = 30_000_000
EVENTS_MAX: Final = 256
US_PER_S: Final = 1_000_000


class Event(NamedTuple):
    """Some records, appended as the leader or fetched from one."""

    at_us: int
    appended: int
    fetched: int


class MetadataRates:
    """Of one replica of the metadata log."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._latencies: deque[tuple[int, int]] = deque(maxlen=EVENTS_MAX)
        self._committed = 0
        self._waiting: deque[tuple[int, int]] = deque(maxlen=EVENTS_MAX)
        """Where the log ended, and when, for what is not known to be committed."""

    def appended(self, records: int, end_offset: int, now_us: int) -> None:
        """By this leader."""
        self._events.append(Event(now_us, records, 0))
        self._waiting.append((end_offset, now_us))

    def committed(self, offset: int, now_us: int, *, leads: bool) -> None:
        """All below an offset is committed."""
        before, self._committed = self._committed, offset
        waiting = self._waiting
        while waiting and waiting[0][0] <= offset:
            _, since_us = waiting.popleft()
            if leads:
                self._latencies.append((now_us, now_us - since_us))
        if not leads and offset > before > 0:
            self._events.append(Event(now_us, 0, offset - before))

    def per_s(self, now_us: int) -> tuple[float, float]:
        """Records that were appended here, and fetched; those of the newest events only, where there were many."""
        recent = [each for each in self._events if each.at_us > now_us - WINDOW_US]
        passed_us = WINDOW_US if len(recent) < EVENTS_MAX else max(now_us - recent[0].at_us, 1)
        appended, fetched = sum(each.appended for each in recent), sum(each.fetched for each in recent)
        return appended * US_PER_S / passed_us, fetched * US_PER_S / passed_us

    def commit_ms(self, now_us: int) -> float:
        recent = [took_us for at_us, took_us in self._latencies if at_us > now_us - WINDOW_US]
        return sum(recent) / len(recent) / 1000 if recent else 0.0
