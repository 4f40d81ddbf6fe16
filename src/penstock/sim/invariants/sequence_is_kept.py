"""An idempotent producer that made no mistake is not refused, unless a power cut took its past."""

from __future__ import annotations

from penstock.sim.events import Acknowledged, Event, OutOfSequence, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class SequenceIsKept(Invariant):
    """Producer state survives whatever the records survive."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._losses_at_ack: dict[tuple[str, Partition], int] = {}

    def see(self, event: Event) -> None:
        match event:
            case Acknowledged(batch, _):
                self._losses_at_ack[batch.producer, batch.partition] = self.model.partitions[batch.partition].losses
            case OutOfSequence(batch, error):
                before = self._losses_at_ack.get((batch.producer, batch.partition), 0)
                lost = self.model.partitions[batch.partition].losses > before
                self.demand(lost, f"{batch.producer} was refused number {batch.first} in {batch.partition}: {error}")
