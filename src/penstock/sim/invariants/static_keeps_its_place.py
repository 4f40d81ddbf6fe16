"""A static member that is started again finds its place as it was, and its old process has none."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.sim.events import Assigned, Down, Event, GhostAnswered, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model

TAKEN_FOR_A_MEMBER = frozenset(
    code.name for code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)
)


class StaticKeepsItsPlace(Invariant):
    """Within a generation an instance has one assignment, whichever process asks for it."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._places: dict[tuple[str, int, str], tuple[Partition, ...]] = {}
        self._replaced: set[tuple[str, str]] = set()

    def see(self, event: Event) -> None:
        match event:
            case Down(lost_power=True):
                # The group may be what it was before: its generations come again, and old processes are young.
                self._places.clear()
                self._replaced.clear()
            case Assigned(group, generation, member, partitions, is_static=True):
                before = self._places.setdefault((group, generation, member), partitions)
                self.demand(before == partitions, f"{member} has {partitions} in {group}/{generation}, it had {before}")
                self._replaced.add((group, member))
            case GhostAnswered(group, instance, error):
                refused = error not in TAKEN_FOR_A_MEMBER or (group, instance) not in self._replaced
                self.demand(refused, f"the old process of {instance} is heard by {group}: {error}")
