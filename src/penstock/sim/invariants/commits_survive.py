"""A group's acknowledged commit is never lost: whoever asks later gets it or a newer one.

Over a crash of the process without exception. Over power loss as far as the log of the group's shard comes back, and
that is at least as far as it was synced; where each append to it is synced first, again without exception.
"""

from __future__ import annotations

from penstock.sim.events import CommitRead, Event
from penstock.sim.invariants.base import Invariant


class CommitsSurvive(Invariant):
    """What is read was sent, and not before the commit that was due when it was asked for."""

    def see(self, event: Event) -> None:
        if isinstance(event, CommitRead):
            commits = self.model.commits[event.group, event.partition]
            due = commits.sent[event.known_when_asked].offset if event.known_when_asked >= 0 else None
            self.demand(
                event.offset in commits.allowed(event.known_when_asked),
                f"{event.group} has committed {due} in {event.partition} and reads {event.offset}",
            )
