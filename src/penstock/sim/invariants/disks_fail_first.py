"""A log goes offline because its disk has failed, and for no other reason: it takes nothing until the next start."""

from __future__ import annotations

from penstock.sim.events import Event, TakenOffline
from penstock.sim.invariants.base import Invariant


class DisksFailFirst(Invariant):
    """A disk that is full is no reason, either: there will be room again."""

    def see(self, event: Event) -> None:
        if isinstance(event, TakenOffline):
            self.object(f"machine {event.machine} took {event.partition} offline, its disk is well: {event.why}")
