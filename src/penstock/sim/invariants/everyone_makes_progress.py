"""After the last fault everybody gets done what they set out to do."""

from __future__ import annotations

from penstock.sim.events import Event, Stuck
from penstock.sim.invariants.base import Invariant


class EveryoneMakesProgress(Invariant):
    """Nobody is stuck for good by a fault that is over."""

    def see(self, event: Event) -> None:
        if isinstance(event, Stuck):
            self.demand(False, f"{event.client} makes no progress though nothing is broken any more")
