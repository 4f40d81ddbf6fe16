"""A hostile client gets nothing that must be refused, and no node holds more for clients than its settings allow."""

from __future__ import annotations

from penstock.sim.events import Event, Granted, Overburdened
from penstock.sim.invariants.base import Invariant


class NobodyIsHurt(Invariant):
    """That all others go on, the other invariants demand."""

    def see(self, event: Event) -> None:
        match event:
            case Granted(client, what):
                self.object(f"{client} was granted {what}")
            case Overburdened(machine, what, amount, amount_max):
                self.object(f"machine {machine} holds {amount} {what}, {amount_max} are allowed")
