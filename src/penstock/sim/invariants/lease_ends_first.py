"""A broker that is fenced for its silence has lost its trust in what it leads before: another one may lead that now."""

from __future__ import annotations

from penstock.sim.events import Event, Trusts
from penstock.sim.invariants.base import Invariant


class LeaseEndsFirst(Invariant):
    """What rests on one machine is acknowledged by one machine at a time."""

    def see(self, event: Event) -> None:
        if isinstance(event, Trusts):
            self.demand(False, f"machine {event.machine} is fenced, and still holds a lease")
