"""Within a generation of a group, each partition has one owner."""

from __future__ import annotations

from penstock.sim.events import Assigned, Event, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class OneOwner(Invariant):
    """Remembers who got what in which generation."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._owners: dict[tuple[str, int, Partition], str] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Assigned):
            for partition in event.partitions:
                owner = self._owners.setdefault((event.group, event.generation, partition), event.member)
                self.demand(
                    owner == event.member,
                    f"{partition} belongs to {owner} and {event.member} in {event.group}/{event.generation}",
                )
