"""What was deleted stays deleted, as long as the process lives and over a stop in good order.

The start of a log is checkpointed now and then, as in Kafka: an unclean stop may bring back what was deleted since.
"""

from __future__ import annotations

from penstock.sim.events import UNKNOWN, DeleteAnswered, Down, Event, FetchAnswered, Partition, Up
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class StartStays(Invariant):
    """No client sees a start go back."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._left: dict[Partition, int] = {}

    def see(self, event: Event) -> None:
        match event:
            case DeleteAnswered(partition, offset, start_offset):
                self.demand(start_offset >= offset, f"{partition} begins at {start_offset}, deleted was up to {offset}")
            case FetchAnswered():
                self._fetched(event)
            case Down(logs=logs, clean=clean) if logs:
                self._left = {partition: state.start_offset for partition, state in logs.items()} if clean else {}
            case Up(logs):
                for partition, state in logs.items():
                    before = self._left.get(partition, 0)
                    self.demand(
                        state.start_offset >= before,
                        f"{partition} begins at {state.start_offset} after a clean stop, it began at {before}",
                    )

    def _fetched(self, event: FetchAnswered) -> None:
        known = self.model.asked[event.client, event.number].known
        for part in event.parts:
            before = known[part.partition]
            same_life = before.unclean_stops == self.model.unclean_stops
            self.demand(
                part.start_offset == UNKNOWN or not same_life or part.start_offset >= before.start_offset,
                f"{event.client} sees {part.partition} begin at {part.start_offset}, it was {before.start_offset}",
            )
