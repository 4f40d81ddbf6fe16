"""A group's committed offset never goes back: only the owner of a partition commits, and goes on where the last did."""

from __future__ import annotations

from penstock.sim.events import CommitRead, Event
from penstock.sim.invariants.base import Invariant


class CommitsRise(Invariant):
    """Where no record is ever taken, nobody has a reason to begin again: a smaller offset is that of a member which
    should have been refused."""

    def see(self, event: Event) -> None:
        if isinstance(event, CommitRead) and event.known_when_asked >= 0:
            known = self.model.commits[event.group, event.partition].sent[event.known_when_asked].offset
            self.demand(
                event.offset >= known,
                f"{event.group} reads {event.offset} for committed in {event.partition}, it was {known} before",
            )
