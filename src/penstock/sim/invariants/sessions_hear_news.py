"""A fetch never misses news: what was acknowledged before it was sent is in its answer."""

from __future__ import annotations

from penstock.sim.events import Event, FetchAnswered
from penstock.sim.invariants.base import Invariant


class SessionsHearNews(Invariant):
    """An incremental session names only what changed, so forgetting one partition would go unnoticed for ever."""

    def see(self, event: Event) -> None:
        if not isinstance(event, FetchAnswered):
            return
        asked = self.model.asked[event.client, event.number]
        if asked.fetch.limited or any(part.error for part in event.parts):
            return
        told = {part.partition for part in event.parts if part.goes_on_at is not None}
        for partition, position in asked.fetch.positions.items():
            known = asked.known[partition]
            self.demand(
                partition in told or position >= known.acknowledged_end,
                f"{event.client} at {position} of {partition} was told nothing, {known.acknowledged_end} was its end",
            )
