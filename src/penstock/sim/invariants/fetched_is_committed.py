"""What a client is given is committed: whoever serves it, a leader or a follower, knows so much and says no more."""

from __future__ import annotations

from penstock.sim.events import Event, FetchAnswered, Partition, Watermark
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class FetchedIsCommitted(Invariant):
    """Remembers the largest high watermark that any leader has had. What was committed once stays so."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._committed: dict[Partition, int] = {}

    def see(self, event: Event) -> None:
        if isinstance(event, Watermark):
            partition = event.leader.partition
            self._committed[partition] = max(self._committed.get(partition, 0), event.offset)
        elif isinstance(event, FetchAnswered):
            for part in event.parts:
                self._judge(event.client, part.partition, part.records)

    def _judge(self, client: str, partition: Partition, records: tuple[tuple[int, bytes], ...]) -> None:
        committed = self._committed.get(partition, 0)
        self.demand(
            not records or records[-1][0] < committed,
            f"{client} was given {partition} up to {records[-1][0] if records else 0}, {committed} was committed",
        )
