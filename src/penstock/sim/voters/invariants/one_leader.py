"""An epoch has at most one leader, in at most one of its lives."""

from __future__ import annotations

from penstock.sim.voters.events import Event, Leads
from penstock.sim.voters.invariants.base import Invariant


class OneLeader(Invariant):
    """A process that comes back after a crash is another one: it may not know what it said before."""

    def __init__(self) -> None:
        self._leaders: dict[int, tuple[int, int]] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Leads):
            who = (event.machine, event.life)
            known = self._leaders.setdefault(event.epoch, who)
            self.demand(known == who, f"epoch {event.epoch} is led by {who} and by {known} (machine, life)")
