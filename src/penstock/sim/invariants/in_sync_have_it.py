"""Whoever is in sync, or eligible, has what is committed: any of them may have to lead in the next moment."""

from __future__ import annotations

from penstock.sim.events import Event, InSync
from penstock.sim.invariants.base import Invariant


class InSyncHaveIt(Invariant):
    """Judges the sets that the newest metadata has. A machine that is down cannot be asked; what it brings back
    is looked at when it serves."""

    def see(self, event: Event) -> None:
        if isinstance(event, InSync):
            for machine, end in event.ends.items():
                if end < event.committed:
                    self.object(
                        f"machine {machine} is in sync in {event.partition} and ends at {end}, "
                        f"{event.committed} is committed"
                    )
