"""Those in sync go on as long as they hear each other, whatever happens to everybody else."""

from __future__ import annotations

from penstock.sim.events import Event, Stalled
from penstock.sim.invariants.base import Invariant


class InSyncGoOn(Invariant):
    """Judges what is seen while a storm goes on; that all goes on after it is `EveryoneMakesProgress`."""

    def see(self, event: Event) -> None:
        if isinstance(event, Stalled):
            self.object(
                f"machine {event.machine} leads {event.partition}, {event.in_sync} are in sync and well, "
                f"and nothing was committed for {event.seconds:.1f} s"
            )
