"""An idempotent producer that made no mistake is not refused, unless its past is gone.

A power cut may take the records themselves. Otherwise a repeated batch among a producer's last five is recognised,
over a restart too, with one exception: of what stands before the snapshot from which the log was opened, only a
producer's last batch is remembered, since that is all that Kafka's snapshots keep. A clean stop leaves a snapshot at
the very end; a crash leaves the one with which the last trusted segment began, so that all that was in flight since is
known.
"""

from __future__ import annotations

from penstock.sim.events import Acknowledged, Batch, Down, Event, OutOfSequence, Partition, Sent, Up
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model

Source = tuple[str, Partition]


class SequenceIsKept(Invariant):
    """Producer state survives whatever the records survive."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._restarts = 0
        self._snapshots: dict[Partition, int] = {}
        self._first_sent: dict[Source, dict[int, tuple[int, int]]] = {}
        self._losses_when_acknowledged: dict[Source, dict[int, int]] = {}

    def see(self, event: Event) -> None:
        match event:
            case Down():
                self._restarts += 1
            case Up(logs):
                for partition, state in logs.items():
                    # What was forgotten once may be gone from the log as well: compaction asks what is remembered.
                    forgotten = max(self._snapshots.get(partition, 0), state.snapshot_offset)
                    self._snapshots[partition] = min(forgotten, state.end_offset)
                    self._shorten(partition, state.end_offset)
            case Sent(batch):
                sent = self._first_sent.setdefault((batch.producer, batch.partition), {})
                acknowledged_end = self.model.partitions[batch.partition].acknowledged_end
                sent.setdefault(batch.first, (self._restarts, acknowledged_end))
            case Acknowledged(batch):
                losses = self.model.partitions[batch.partition].losses
                acknowledged = self._losses_when_acknowledged.setdefault((batch.producer, batch.partition), {})
                acknowledged[batch.first] = losses
            case OutOfSequence(batch, error):
                excused = self._is_lost(batch) or self._is_forgotten(batch)
                self.demand(excused, f"{batch.producer} was refused {batch.first} in {batch.partition}: {error}")

    def _shorten(self, partition: Partition, end_offset: int) -> None:
        """A log that a power cut has made shorter takes what was sent before in again, lower down."""
        for sent in (sent for source, sent in self._first_sent.items() if source[1] == partition):
            for first, (restarts, earliest_offset) in sent.items():
                sent[first] = restarts, min(earliest_offset, end_offset)

    def _is_lost(self, batch: Batch) -> bool:
        """Whether something was lost since the batch before was acknowledged."""
        acknowledged = self._losses_when_acknowledged.get((batch.producer, batch.partition), {})
        losses = max((losses for first, losses in acknowledged.items() if first < batch.first), default=0)
        return self.model.partitions[batch.partition].losses > losses

    def _is_forgotten(self, batch: Batch) -> bool:
        """Whether the node restarted since this batch was first sent, from a snapshot that may be of later, with later
        batches behind it. The batch stands nowhere below what was acknowledged when it was sent."""
        sent = self._first_sent[batch.producer, batch.partition]
        restarts, earliest_offset = sent[batch.first]
        restarted = self._restarts > restarts and self._snapshots.get(batch.partition, 0) > earliest_offset
        return restarted and max(sent) > batch.first
