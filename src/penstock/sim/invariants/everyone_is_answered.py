"""Every request is answered, or its connection closed, unless the world itself broke the connection."""

from __future__ import annotations

from penstock.sim.events import Event, Unanswered
from penstock.sim.invariants.base import Invariant


class EveryoneIsAnswered(Invariant):
    """A client that waits for a minute on a sound connection was forgotten."""

    def see(self, event: Event) -> None:
        if isinstance(event, Unanswered):
            self.demand(event.excused, f"{event.request} of {event.client} was never answered")
