"""No duplicate within an idempotent producer's id; without one, at most one copy per attempt."""

from __future__ import annotations

from collections import Counter

from penstock.sim.events import Event, Read
from penstock.sim.invariants.base import Invariant


class NoDuplicate(Invariant):
    """Counts the copies of each value in a whole partition."""

    def see(self, event: Event) -> None:
        if isinstance(event, Read):
            sent = self.model.partitions[event.partition].sent
            for value, copies in Counter(value for _, value in event.records).items():
                allowed = sent[value].copies_max
                if copies > allowed:
                    self.object(f"{event.partition} has {copies} copies of {value!r}, not {allowed}")
