"""No client sees an end offset go back, whoever leads.

A new leader says nothing of the end before everything from earlier epochs is committed under it; and a leader that was
replaced and does not know it yet is found out by the epoch that its client knows.
"""

from __future__ import annotations

from penstock.sim.events import EndSeen, Event, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class EndsRise(Invariant):
    """Remembers the last end that each client was told."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._ends: dict[tuple[str, Partition], int] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, EndSeen):
            before = self._ends.get((event.client, event.partition), 0)
            self.demand(
                event.offset >= before,
                f"{event.client} sees {event.partition} end at {event.offset}, it ended at {before}",
            )
            self._ends[event.client, event.partition] = event.offset
