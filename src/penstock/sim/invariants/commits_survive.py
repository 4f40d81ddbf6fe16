"""A group's acknowledged commit is never lost: whoever asks later gets it or a newer one."""

from __future__ import annotations

from penstock.sim.events import CommitRead, Event
from penstock.sim.invariants.base import Invariant


class CommitsSurvive(Invariant):
    """Members commit rising offsets, so a smaller one than acknowledged means that a commit is gone."""

    def see(self, event: Event) -> None:
        if isinstance(event, CommitRead):
            self.demand(
                event.offset >= event.known_when_asked,
                f"{event.group} has committed {event.known_when_asked} in {event.partition} and reads {event.offset}",
            )
