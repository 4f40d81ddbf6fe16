"""What was confirmed is in everything that is committed later, on every machine."""

from __future__ import annotations

from penstock.sim.voters.events import Commits, Confirmed, Event
from penstock.sim.voters.invariants.base import Invariant


class MetadataSurvives(Invariant):
    """Metadata counts only when a majority has synced it, so this holds through any power loss."""

    def __init__(self) -> None:
        self._confirmed: dict[str, int] = {}

    def see(self, event: Event) -> None:
        match event:
            case Confirmed(key, offset):
                self._confirmed[key] = offset
            case Commits(machine, _, end, keys):
                lost = [key for key, offset in self._confirmed.items() if offset <= end and key not in keys]
                self.demand(not lost, f"machine {machine} has lost {lost[:5]} at {end}")
