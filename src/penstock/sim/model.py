"""The model: each partition as a list of values, and what is promised about it.

It is as naive as the node is clever. Acknowledged values stand at their offsets until something that was allowed to
take them away has done so: a power cut takes what was not synced, and never anything from a topic that syncs each
append before it acknowledges.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from penstock.sim.events import (
    Acknowledged,
    Batch,
    CommitAcknowledged,
    Down,
    Event,
    FetchAnswered,
    FetchAsked,
    LogState,
    Partition,
    Sent,
    Up,
)


@dataclass(slots=True)
class Origin:
    """Who sent a value, as its how-many-th, how often, and under how many producer ids."""

    producer: str
    number: int
    idempotent: bool
    attempts: int = 0
    identities: set[int] = field(default_factory=set)

    @property
    def copies_max(self) -> int:
        """How many copies may be there: the node tells repetitions apart within a producer id, and only there."""
        return len(self.identities) if self.idempotent else self.attempts


@dataclass(slots=True)
class PartitionModel:
    """What is known of one partition."""

    sent: dict[bytes, Origin] = field(default_factory=dict)
    acknowledged: dict[int, bytes] = field(default_factory=dict)
    acknowledged_end: int = 0
    high_watermark: int = 0
    synced_offset: int = 0
    losses: int = 0

    def acknowledge(self, base_offset: int, values: tuple[bytes, ...]) -> None:
        """Put acknowledged values into the list."""
        for offset, value in enumerate(values, base_offset):
            self.acknowledged[offset] = value
        self.acknowledged_end = max(self.acknowledged_end, base_offset + len(values))

    def cut(self, end_offset: int) -> None:
        """Forget what a power cut took."""
        self.losses += self.acknowledged_end > end_offset
        self.acknowledged = {offset: value for offset, value in self.acknowledged.items() if offset < end_offset}
        self.acknowledged_end = min(self.acknowledged_end, end_offset)
        self.high_watermark = min(self.high_watermark, end_offset)


@dataclass(frozen=True, slots=True)
class Known:
    """What was known of a partition when a request was sent."""

    acknowledged_end: int
    high_watermark: int
    losses: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A fetch that was sent, with what was known then."""

    fetch: FetchAsked
    known: dict[Partition, Known]


class Model:
    """Everything that is promised at a moment."""

    def __init__(self, synced_topics: frozenset[str] = frozenset()) -> None:
        self.synced_topics = synced_topics
        self.partitions: defaultdict[Partition, PartitionModel] = defaultdict(PartitionModel)
        self.asked: dict[tuple[str, int], Asked] = {}
        self.committed: dict[tuple[str, Partition], int] = {}
        self.lost_power = False

    def see(self, event: Event) -> None:
        """Take an event into account, after the invariants have judged it."""
        match event:
            case Sent(batch, identity):
                self._sent(batch, identity)
            case Acknowledged(batch, base_offset):
                if base_offset is not None:
                    self.partitions[batch.partition].acknowledge(base_offset, batch.values)
            case FetchAsked(client, number, positions, _):
                known = {partition: self.known(partition) for partition in positions}
                self.asked[client, number] = Asked(event, known)
            case FetchAnswered(client, number, parts):
                self.asked.pop((client, number))
                for part in parts:
                    model = self.partitions[part.partition]
                    model.high_watermark = max(model.high_watermark, part.high_watermark)
            case CommitAcknowledged(group, partition, offset):
                self.committed[group, partition] = offset
            case Down(lost_power, logs):
                self._down(lost_power, logs)
            case Up(logs):
                self._up(logs)

    def known(self, partition: Partition) -> Known:
        """What can be demanded of a request that is sent now."""
        model = self.partitions[partition]
        return Known(model.acknowledged_end, model.high_watermark, model.losses)

    def floor(self, partition: Partition) -> int:
        """How far a log must reach when the next process has recovered it."""
        model = self.partitions[partition]
        if not self.lost_power:
            return max(model.acknowledged_end, model.high_watermark)
        return max(model.synced_offset, model.acknowledged_end if partition.topic in self.synced_topics else 0)

    def _sent(self, batch: Batch, identity: int) -> None:
        sent = self.partitions[batch.partition].sent
        for number, value in enumerate(batch.values, batch.first):
            origin = sent.setdefault(value, Origin(batch.producer, number, batch.idempotent))
            origin.attempts += 1
            origin.identities.add(identity)

    def _down(self, lost_power: bool, logs: dict[Partition, LogState]) -> None:
        self.lost_power = self.lost_power or lost_power
        for partition, state in logs.items():
            self.partitions[partition].synced_offset = state.synced_offset
        if lost_power:
            self.asked.clear()
            self.committed.clear()

    def _up(self, logs: dict[Partition, LogState]) -> None:
        for partition, state in logs.items():
            model = self.partitions[partition]
            model.synced_offset = state.synced_offset
            if self.lost_power:
                model.cut(state.end_offset)
        self.lost_power = False
