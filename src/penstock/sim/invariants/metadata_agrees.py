"""The metadata up to an offset is the same everywhere, and never changes."""

from __future__ import annotations

from penstock.sim.events import Event, Published
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class MetadataAgrees(Invariant):
    """Images at the same offset are equal, however a machine came by its own: by folding, or from a snapshot. Within a
    life they only move forward."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._digests: dict[int, str] = {}
        self._reached: dict[tuple[int, int], int] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Published):
            known = self._digests.setdefault(event.offset, event.digest)
            self.demand(known == event.digest, f"machine {event.machine} has other metadata at {event.offset}")
            before = self._reached.get((event.machine, event.life), -1)
            self.demand(before <= event.offset, f"machine {event.machine} went back from {before} to {event.offset}")
            self._reached[event.machine, event.life] = event.offset
