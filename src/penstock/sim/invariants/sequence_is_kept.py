"""An idempotent producer that made no mistake is not refused, unless its past is gone.

A power cut may take the records themselves. A restart takes the memory of all but a producer's last batch, since that
is all that Kafka's snapshots keep: a producer that repeats an earlier one is refused, as it would be by Kafka.
"""

from __future__ import annotations

from penstock.sim.events import Acknowledged, Down, Event, OutOfSequence, Partition, Sent
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model

Source = tuple[str, Partition]


class SequenceIsKept(Invariant):
    """Producer state survives whatever the records survive."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._restarts = 0
        self._newest: dict[Source, int] = {}
        self._at_last_ack: dict[Source, tuple[int, int]] = {}

    def see(self, event: Event) -> None:
        match event:
            case Down():
                self._restarts += 1
            case Sent(batch):
                source = batch.producer, batch.partition
                self._newest[source] = max(self._newest.get(source, 0), batch.first)
            case Acknowledged(batch):
                losses = self.model.partitions[batch.partition].losses
                self._at_last_ack[batch.producer, batch.partition] = losses, self._restarts
            case OutOfSequence():
                self._judge(event)

    def _judge(self, event: OutOfSequence) -> None:
        batch = event.batch
        source = batch.producer, batch.partition
        losses, restarts = self._at_last_ack.get(source, (0, 0))
        lost = self.model.partitions[batch.partition].losses > losses
        forgotten = self._restarts > restarts and batch.first < self._newest[source]
        self.demand(
            lost or forgotten, f"{batch.producer} was refused number {batch.first} in {batch.partition}: {event.error}"
        )
