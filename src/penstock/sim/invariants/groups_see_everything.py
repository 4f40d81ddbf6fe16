"""A group skips nothing: each of its members begins where the group has already been, or before that."""

from __future__ import annotations

from penstock.sim.events import Event, GroupSaw, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class GroupsSeeEverything(Invariant):
    """At least once, in a partition from which nothing is ever taken."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._seen: dict[tuple[str, Partition], int] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, GroupSaw):
            seen = self._seen.get((event.group, event.partition), 0)
            self.demand(
                event.offset <= seen,
                f"{event.group} goes on at {event.offset} of {event.partition}, it has seen what is below {seen}",
            )
            self._seen[event.group, event.partition] = max(seen, event.next_offset)
