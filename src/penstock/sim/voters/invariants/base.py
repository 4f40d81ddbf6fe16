"""What an invariant of a quorum is: it sees every event, and objects."""

from __future__ import annotations

from penstock.sim.invariants.base import Violation
from penstock.sim.voters.events import Event


class Invariant:
    """Judges events by what it has seen before."""

    def see(self, event: Event) -> None:
        """Object to an event by raising `Violation`."""

    def demand(self, holds: bool, complaint: str) -> None:
        """Object unless something holds."""
        if not holds:
            raise Violation(f"{type(self).__name__}: {complaint}")
