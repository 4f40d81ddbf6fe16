"""No duplicate under idempotence; without it, at most one copy per attempt."""

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
                origin = sent[value]
                allowed = 1 if origin.idempotent else origin.attempts
                self.demand(copies <= allowed, f"{event.partition} has {copies} copies of {value!r}, not {allowed}")
