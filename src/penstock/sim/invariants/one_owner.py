"""Within a generation of a group, each partition has one owner."""

from __future__ import annotations

from penstock.sim.events import Assigned, Down, Event, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class OneOwner(Invariant):
    """Remembers who got what in which generation."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._owners: dict[tuple[str, int, Partition], str] = {}

    def see(self, event: Event) -> None:
        match event:
            case Down(lost_power=True):
                # The group's generations may be lost with the rest, and their numbers given out again.
                self._owners.clear()
            case Assigned(group, generation, member, partitions):
                for partition in partitions:
                    owner = self._owners.setdefault((group, generation, partition), member)
                    self.demand(owner == member, f"{partition} belongs to {owner} and {member} in {group}/{generation}")
