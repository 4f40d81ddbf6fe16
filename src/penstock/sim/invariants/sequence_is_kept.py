"""An idempotent producer that made no mistake is not refused, unless its past is gone.

A power cut may take the records themselves. A restart takes the memory of all but a producer's last batch, since that
is all that Kafka's snapshots keep: a producer that repeats an earlier one is refused, as it would be by Kafka.
"""

from __future__ import annotations

from penstock.sim.events import Acknowledged, Batch, Down, Event, OutOfSequence, Partition, Sent
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model

Source = tuple[str, Partition]


class SequenceIsKept(Invariant):
    """Producer state survives whatever the records survive."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._restarts = 0
        self._restarts_when_sent: dict[Source, dict[int, int]] = {}
        self._losses_when_acknowledged: dict[Source, dict[int, int]] = {}

    def see(self, event: Event) -> None:
        match event:
            case Down():
                self._restarts += 1
            case Sent(batch):
                sent = self._restarts_when_sent.setdefault((batch.producer, batch.partition), {})
                sent.setdefault(batch.first, self._restarts)
            case Acknowledged(batch):
                losses = self.model.partitions[batch.partition].losses
                acknowledged = self._losses_when_acknowledged.setdefault((batch.producer, batch.partition), {})
                acknowledged[batch.first] = losses
            case OutOfSequence(batch, error):
                excused = self._is_lost(batch) or self._is_forgotten(batch)
                self.demand(excused, f"{batch.producer} was refused {batch.first} in {batch.partition}: {error}")

    def _is_lost(self, batch: Batch) -> bool:
        """Whether something was lost since the batch before was acknowledged."""
        acknowledged = self._losses_when_acknowledged.get((batch.producer, batch.partition), {})
        losses = max((losses for first, losses in acknowledged.items() if first < batch.first), default=0)
        return self.model.partitions[batch.partition].losses > losses

    def _is_forgotten(self, batch: Batch) -> bool:
        """Whether the node restarted since this batch was first sent, with later ones behind it."""
        sent = self._restarts_when_sent[batch.producer, batch.partition]
        return self._restarts > sent[batch.first] and max(sent) > batch.first
