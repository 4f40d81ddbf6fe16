"""Records go with their folder only where the metadata says so: that it knows nothing of them is no reason."""

from __future__ import annotations

from penstock.sim.events import Discarded, Event
from penstock.sim.invariants.base import Invariant


class DeletionsAreRecorded(Invariant):
    """Either their topic was removed, or their replica is elsewhere."""

    def see(self, event: Event) -> None:
        if isinstance(event, Discarded):
            self.demand(event.is_recorded, f"machine {event.machine} deletes {event.folder}, and nobody told it to")
