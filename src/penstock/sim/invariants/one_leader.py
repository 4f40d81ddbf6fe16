"""At most one leader per epoch of a partition: two would acknowledge different records at one offset."""

from __future__ import annotations

from penstock.sim.events import Event, Leads, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class OneLeader(Invariant):
    """Whoever led an epoch first is its only leader, for ever."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._leaders: dict[tuple[Partition, int], int] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Leads):
            first = self._leaders.setdefault((event.partition, event.epoch), event.machine)
            self.demand(
                first == event.machine,
                f"{event.machine} leads {event.partition} in epoch {event.epoch}, in which {first} led",
            )
