"""The model: each partition as a list of values, and what is promised about it.

It is as naive as the node is clever. Acknowledged values stand at their offsets until something that was allowed to
take them away has done so: a power cut takes what was not synced, and never anything from a topic that syncs each
append before it acknowledges; retention, deletion and compaction take what the settings and the clients let them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.sim.commits import Commit, Commits
from penstock.sim.events import (
    UNKNOWN,
    Acknowledged,
    Batch,
    ClockSet,
    CommitAcknowledged,
    CommitSent,
    DeleteAnswered,
    DeleteAsked,
    Down,
    Event,
    FetchAnswered,
    FetchAsked,
    LogState,
    Partition,
    Sent,
    Up,
)
from penstock.sim.rules import TopicRules
from penstock.sim.transactions.model import Transactions
from penstock.sim.values import is_tombstone, key_of

OFFSETS_TOPIC = "__consumer_offsets"


@dataclass(slots=True)
class Origin:
    """Who sent a value, as its how-many-th, how often, when first, and under how many producer ids."""

    producer: str
    number: int
    idempotent: bool
    first_ms: int = 0
    attempts: int = 0
    acknowledged: bool = False
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
    deletable_offset: int = 0  # What clients have asked to be deleted.
    start_offset: int = 0  # The largest that anybody has been told since the last stop that may take it back.
    newest_ms: int = 0
    latest: dict[bytes | None, int] = field(default_factory=dict)  # The last acknowledged offset of each key.
    open_keys: Counter[bytes | None] = field(default_factory=Counter)  # Values of unknown fate by their key.

    def send(self, value: bytes, fresh: Origin) -> Origin:
        """A value is sent, perhaps again."""
        if value not in self.sent:
            self.sent[value] = fresh
            self.open_keys[key_of(value)] += 1
        return self.sent[value]

    def acknowledge(self, base_offset: int, values: tuple[bytes, ...]) -> None:
        """Put acknowledged values into the list."""
        for offset, value in enumerate(values, base_offset):
            self.acknowledged[offset] = value
            self.latest[key_of(value)] = max(self.latest.get(key_of(value), 0), offset)
            origin = self.sent[value]
            self.open_keys[key_of(value)] -= not origin.acknowledged
            origin.acknowledged = True
        self.acknowledged_end = max(self.acknowledged_end, base_offset + len(values))

    def cut(self, end_offset: int) -> None:
        """Forget what a power cut took."""
        self.losses += self.acknowledged_end > end_offset
        self.acknowledged = {offset: value for offset, value in self.acknowledged.items() if offset < end_offset}
        self.acknowledged_end = min(self.acknowledged_end, end_offset)
        self.high_watermark = min(self.high_watermark, end_offset)
        self.start_offset = min(self.start_offset, end_offset)
        self.latest = {key_of(self.acknowledged[offset]): offset for offset in sorted(self.acknowledged)}

    def is_superseded(self, offset: int) -> bool:
        """Whether compaction may have taken the acknowledged record at an offset: a later one of its key is there, or
        may be, or it is a tombstone itself."""
        value = self.acknowledged[offset]
        key = key_of(value)
        return is_tombstone(value) or self.latest[key] > offset or self.open_keys[key] > 0


@dataclass(frozen=True, slots=True)
class Known:
    """What was known of a partition when a request was sent."""

    acknowledged_end: int
    high_watermark: int
    losses: int
    start_offset: int = 0
    unclean_stops: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A fetch that was sent, with what was known then."""

    fetch: FetchAsked
    known: dict[Partition, Known]


class Model:
    """Everything that is promised at a moment. Whoever shows it events sets its clock."""

    def __init__(self, rules: Mapping[str, TopicRules] | None = None) -> None:
        self._rules = rules or {}
        self.partitions: defaultdict[Partition, PartitionModel] = defaultdict(PartitionModel)
        self.asked: dict[tuple[str, int], Asked] = {}
        self.commits: defaultdict[tuple[str, Partition], Commits] = defaultdict(Commits)
        self.transactions = Transactions()
        self.lost_power = False
        self.power_losses = 0
        self.unclean_stops = 0
        self.now_ms = 0
        self.skew_ms = 0
        self.node_clock_ms_max = 0

    def rules(self, topic: str) -> TopicRules:
        """What the topic's settings promise."""
        return self._rules.get(topic, TopicRules())

    def tick(self, now_ms: int) -> None:
        """It is this time now; the node's clock may say otherwise."""
        self.now_ms = now_ms
        self.node_clock_ms_max = max(self.node_clock_ms_max, now_ms + self.skew_ms)

    def see(self, event: Event) -> None:
        """Take an event into account, after the invariants have judged it."""
        match event:
            case Sent(batch, identity, timestamp_ms):
                self._sent(batch, identity, timestamp_ms)
            case Acknowledged(batch, base_offset):
                if base_offset is not None:
                    self.partitions[batch.partition].acknowledge(base_offset, batch.values)
            case FetchAsked(client, number, positions, _):
                known = {partition: self.known(partition) for partition in positions}
                self.asked[client, number] = Asked(event, known)
            case FetchAnswered():
                self._fetched(event)
            case DeleteAsked(partition, offset):
                model = self.partitions[partition]
                model.deletable_offset = max(model.deletable_offset, offset)
            case DeleteAnswered(partition, _, start_offset):
                self._starts(partition, start_offset)
            case CommitSent() | CommitAcknowledged():
                self._committed(event)
            case ClockSet(skew_ms):
                self.skew_ms = skew_ms
                self.tick(self.now_ms)
            case Down():
                self._down(event)
            case Up(logs):
                self._up(logs)
            case _:
                self.transactions.see(event, self.now_ms)

    def known(self, partition: Partition) -> Known:
        """What can be demanded of a request that is sent now."""
        model = self.partitions[partition]
        return Known(model.acknowledged_end, model.high_watermark, model.losses, model.start_offset, self.unclean_stops)

    def floor(self, partition: Partition) -> int:
        """How far a log must reach when the next process has recovered it."""
        model = self.partitions[partition]
        if not self.lost_power:
            return max(model.acknowledged_end, model.high_watermark)
        return max(model.synced_offset, model.acknowledged_end if self.rules(partition.topic).synced else 0)

    def _sent(self, batch: Batch, identity: int, timestamp_ms: int) -> None:
        model = self.partitions[batch.partition]
        model.newest_ms = max(model.newest_ms, timestamp_ms)
        for number, value in enumerate(batch.values, batch.first):
            fresh = Origin(batch.producer, number, batch.idempotent, first_ms=timestamp_ms)
            origin = model.send(value, fresh)
            origin.attempts += 1
            origin.identities.add(identity)

    def _fetched(self, event: FetchAnswered) -> None:
        self.asked.pop((event.client, event.number))
        for part in event.parts:
            model = self.partitions[part.partition]
            model.high_watermark = max(model.high_watermark, part.high_watermark)
            self._starts(part.partition, part.start_offset)

    def _starts(self, partition: Partition, start_offset: int) -> None:
        if start_offset != UNKNOWN:
            model = self.partitions[partition]
            model.start_offset = max(model.start_offset, start_offset)

    def _committed(self, event: CommitSent | CommitAcknowledged) -> None:
        commits = self.commits[event.group, event.partition]
        match event:
            case CommitSent(_, _, offset):
                commits.sent.append(Commit(offset))
            case CommitAcknowledged(_, _, offset, shard, shard_end):
                commits.acknowledge(offset, shard, shard_end)

    def _down(self, down: Down) -> None:
        self.lost_power = self.lost_power or down.lost_power
        self.power_losses += down.lost_power
        self.unclean_stops += not down.clean
        for partition, state in down.logs.items():
            self.partitions[partition].synced_offset = state.synced_offset
        if down.lost_power:
            self.asked.clear()

    def _up(self, logs: dict[Partition, LogState]) -> None:
        for partition, state in logs.items():
            model = self.partitions[partition]
            model.synced_offset = state.synced_offset
            model.start_offset = state.start_offset
            if self.lost_power:
                model.cut(state.end_offset)
        ends = {partition: state.end_offset for partition, state in logs.items()}
        for commits in self.commits.values():
            commits.recovered(ends, self.lost_power, self.rules(OFFSETS_TOPIC).synced)
        self.lost_power = False
