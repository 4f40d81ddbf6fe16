"""In a cooperative group nobody gets a partition that another one goes on reading."""

from __future__ import annotations

from collections import defaultdict

from penstock.sim.events import Assigned, Down, Event
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class HandedOverFirst(Invariant):
    """Compares what members said they keep, when they joined a generation, with what others got in it."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._generations: defaultdict[tuple[str, int], dict[str, Assigned]] = defaultdict(dict)

    def see(self, event: Event) -> None:
        match event:
            case Down(lost_power=True):
                # Members that were expelled may be members again, and claim what others have.
                self._generations.clear()
            case Assigned(group, generation, member):
                others = self._generations[group, generation]
                others.setdefault(member, event)
                for other in others.values():
                    if other.member != member:
                        self._compare(event, other)
                        self._compare(other, event)

    def _compare(self, keeper: Assigned, getter: Assigned) -> None:
        both = set(keeper.kept) & set(getter.partitions) - set(getter.kept)
        self.demand(
            not both,
            f"{getter.member} got {sorted(both)} in {getter.group}/{getter.generation}, which {keeper.member} keeps",
        )
