"""When all is quiet every replica of a partition holds the same bytes."""

from __future__ import annotations

from penstock.sim.events import Event, Held
from penstock.sim.invariants.base import Invariant


class ReplicasAgree(Invariant):
    """Batches are copied whole, with the leader's offsets and epochs, so that logs are equal byte by byte."""

    def see(self, event: Event) -> None:
        if isinstance(event, Held):
            logs = list(event.logs.values())
            longest = max(logs, key=len, default=b"")
            agrees = longest.endswith if event.forgets else longest.__eq__
            self.demand(all(agrees(log) for log in logs), f"the replicas differ: {event}")
