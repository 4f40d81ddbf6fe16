"""What is committed up to an offset is the same everywhere, and never changes."""

from __future__ import annotations

from penstock.sim.voters.events import Commits, Event, Keys
from penstock.sim.voters.invariants.base import Invariant


class MetadataAgrees(Invariant):
    """Images at the same offset are equal. Within a life they only move forward."""

    def __init__(self) -> None:
        self._images: dict[int, Keys] = {}
        self._reached: dict[tuple[int, int], int] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Commits):
            known = self._images.setdefault(event.offset, event.keys)
            differing = sorted(known ^ event.keys)
            self.demand(not differing, f"machine {event.machine} differs at {event.offset} by {differing[:5]}")
            before = self._reached.get((event.machine, event.life), -1)
            self.demand(before <= event.offset, f"machine {event.machine} went back from {before} to {event.offset}")
            self._reached[event.machine, event.life] = event.offset
