"""A reader whose position is gone goes on further up: only what retention takes is ever gone."""

from __future__ import annotations

from penstock.sim.events import Event, Repositioned
from penstock.sim.invariants.base import Invariant


class PositionsRise(Invariant):
    """Back it would go only where a partition ends earlier than it did."""

    def see(self, event: Event) -> None:
        if isinstance(event, Repositioned):
            self.demand(
                event.next_position >= event.position,
                f"{event.client} was at {event.position} of {event.partition}, and had to go back to "
                f"{event.next_position}",
            )
