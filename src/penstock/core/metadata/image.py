"""The image: what the cluster looks like at one offset of the metadata log. Immutable, shared by everyone who reads.

Partitions live in flat arrays per topic, and replica sets are interned, so that a partition costs 28 bytes that the
garbage collector never walks.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Set
from typing import NamedTuple

from penstock.core.base.values import fresh, frozen
from penstock.core.metadata.access import AccessImage
from penstock.core.metadata.brokers import (
    MIGRATING_DIRECTORY,
    NO_BROKER,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    ControllerImage,
)
from penstock.core.metadata.interned import Column, Interned
from penstock.core.metadata.sharded import ShardedMap
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32

NO_LEADER = NO_BROKER
LEADER_UNCHANGED = -2
RECOVERED, RECOVERING = 0, 1
RECOVERY_UNCHANGED = -1

ReplicaSet = tuple[int, ...]
Directories = tuple[bytes, ...]


class UnusualState(NamedTuple):
    """What few partitions have: a reassignment under way, eligible leaders outside the in-sync set, a recovery."""

    adding: ReplicaSet = ()
    removing: ReplicaSet = ()
    elr: ReplicaSet = ()
    last_known_elr: ReplicaSet = ()
    recovery: int = RECOVERED


ORDINARY = UnusualState()
_SETS: Interned[ReplicaSet] = Interned((), lambda members: members)
_DIRECTORIES: Interned[Directories] = Interned(())
_STANDINGS: Interned[UnusualState] = Interned(ORDINARY, lambda standing: standing.elr)


class PartitionImage(NamedTuple):
    """One partition, as a value: how records and readers speak of it."""

    replicas: ReplicaSet
    isr: ReplicaSet
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: Directories = ()
    standing: UnusualState = ORDINARY

    @property
    def is_reassigning(self) -> bool:
        return bool(self.standing.adding or self.standing.removing)

    @property
    def has_preferred_leader(self) -> bool:
        return self.leader == (self.replicas[0] if self.replicas else NO_LEADER)

    def directory(self, replica: int) -> bytes:
        if not self.directories:
            return MIGRATING_DIRECTORY
        return self.directories[self.replicas.index(replica)]

    def merged(self, record: PartitionChangeRecord) -> PartitionImage:
        """The partition after a change. A leader that is named begins an epoch, even if it is the one before."""
        replicas = self.replicas if record.replicas is None else tuple(record.replicas)
        named = record.leader != LEADER_UNCHANGED
        return PartitionImage(
            replicas,
            self.isr if record.isr is None else tuple(record.isr),
            record.leader if named else self.leader,
            self.leader_epoch + named,
            self.partition_epoch + 1,
            self.directories if record.directories is None else tuple(record.directories),
            _changed_standing(self.standing, record),
        )


def _changed_standing(before: UnusualState, record: PartitionChangeRecord) -> UnusualState:
    recovery = record.leader_recovery_state
    return UnusualState(
        before.adding if record.adding_replicas is None else tuple(record.adding_replicas),
        before.removing if record.removing_replicas is None else tuple(record.removing_replicas),
        before.elr if record.eligible_leader_replicas is None else tuple(record.eligible_leader_replicas),
        before.last_known_elr if record.last_known_elr is None else tuple(record.last_known_elr),
        before.recovery if recovery == RECOVERY_UNCHANGED else recovery,
    )


class TopicImage:
    """One topic and its partitions, in arrays indexed by partition."""

    __slots__ = (
        "directories",
        "id",
        "isrs",
        "leader_epochs",
        "leaders",
        "name",
        "partition_epochs",
        "replicas",
        "standings",
    )

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.id = topic_id
        self.leaders = array("i")
        self.leader_epochs = array("i")
        self.partition_epochs = array("i")
        self.replicas = Column(_SETS)
        self.isrs = Column(_SETS)
        self.directories = Column(_DIRECTORIES)
        self.standings = Column(_STANDINGS)

    def __len__(self) -> int:
        return len(self.leaders)

    def partition(self, index: int) -> PartitionImage:
        return PartitionImage(
            self.replicas[index],
            self.isrs[index],
            self.leaders[index],
            self.leader_epochs[index],
            self.partition_epochs[index],
            self.directories[index],
            self.standings[index],
        )

    def find(self, index: int) -> PartitionImage | None:
        """A partition by a number that somebody else gave us."""
        return self.partition(index) if 0 <= index < len(self.leaders) else None

    def copy(self) -> TopicImage:
        """A version that a fold may still change; published versions never change."""
        other = TopicImage.__new__(TopicImage)
        other.name = self.name
        other.id = self.id
        other.leaders = self.leaders[:]
        other.leader_epochs = self.leader_epochs[:]
        other.partition_epochs = self.partition_epochs[:]
        other.replicas = self.replicas.copy()
        other.isrs = self.isrs.copy()
        other.directories = self.directories.copy()
        other.standings = self.standings.copy()
        return other

    def put(self, index: int, partition: PartitionImage) -> None:
        """Set one partition; partitions arrive in order, so the next index appends. Only for unpublished copies."""
        count = len(self.leaders)
        assert 0 <= index <= count, f"partition {index} of {self.name} arrived before {count}"
        if index == count:
            self.leaders.append(partition.leader)
            self.leader_epochs.append(partition.leader_epoch)
            self.partition_epochs.append(partition.partition_epoch)
        else:
            self.leaders[index] = partition.leader
            self.leader_epochs[index] = partition.leader_epoch
            self.partition_epochs[index] = partition.partition_epoch
        self.replicas.put(index, partition.replicas)
        self.isrs.put(index, partition.isr)
        self.directories.put(index, partition.directories)
        self.standings.put(index, partition.standing)

    def leaderless(self) -> list[int]:
        """The partitions that nobody leads."""
        if NO_LEADER not in self.leaders:
            return []
        return [index for index, leader in enumerate(self.leaders) if leader == NO_LEADER]

    def led_by(self, brokers: Set[int]) -> list[int]:
        """The partitions that one of these brokers leads."""
        return [index for index, leader in enumerate(self.leaders) if leader in brokers]

    def unpreferred(self) -> list[int]:
        """The partitions that are led, but not by the first of their replicas."""
        sets = _SETS.values
        pairs = enumerate(zip(self.leaders, self.replicas.codes, strict=True))
        return [index for index, (leader, code) in pairs if leader != NO_LEADER and sets[code][0] != leader]

    def reassigning(self) -> list[int]:
        if not any(self.standings.codes):
            return []
        standings = enumerate(self.standings.codes)
        return [index for index, code in standings if code and self.partition(index).is_reassigning]

    def counting_on(self, broker: int) -> list[int]:
        """The partitions that have a broker in their in-sync set, or among their eligible leaders."""
        in_sync, eligible = _SETS.holding(broker), _STANDINGS.holding(broker)
        if not eligible:
            return [index for index, code in enumerate(self.isrs.codes) if code in in_sync]
        pairs = enumerate(zip(self.isrs.codes, self.standings.codes, strict=True))
        return [index for index, (isr, standing) in pairs if isr in in_sync or standing in eligible]

    def placed_on(self, broker: int) -> list[int]:
        """The partitions that have a replica on a broker."""
        holding = _SETS.holding(broker)
        return [index for index, code in enumerate(self.replicas.codes) if code in holding]


def unified(name: str) -> str:
    """A topic's name as metrics tell it, where '.' and '_' are the same."""
    return name.replace(".", "_")


def resource_key(resource_type: int, name: str) -> str:
    """Key of a configured resource in the image."""
    return f"{resource_type}/{name}"


@frozen
class Tally:
    """Counts that spare a scan: how many partitions each broker leads, how many nobody leads, how many are moving."""

    leading: Mapping[int, int] = fresh(default_factory=dict)
    reassigning: int = 0

    @property
    def leaderless(self) -> int:
        return self.leading.get(NO_LEADER, 0)


@frozen
class Image:
    """The whole, as of `offset` (the last record folded in)."""

    offset: int = -1
    topics: ShardedMap[str, TopicImage] = fresh(default_factory=ShardedMap)
    names: ShardedMap[bytes, str] = fresh(default_factory=ShardedMap)
    unified_names: ShardedMap[str, str] = fresh(default_factory=ShardedMap)
    configs: ShardedMap[str, dict[str, str]] = fresh(default_factory=ShardedMap)
    brokers: dict[int, BrokerImage] = fresh(default_factory=dict)
    features: dict[str, int] = fresh(default_factory=dict)
    next_producer_id: int = 0
    controllers: dict[int, ControllerImage] = fresh(default_factory=dict)
    access: AccessImage = fresh(default_factory=AccessImage)
    tally: Tally = fresh(default_factory=Tally)
    unfinished: tuple[StoredRecord, ...] | None = None
    """Records of a metadata transaction that has begun: they count once it ends, or never."""

    def topic(self, name: str) -> TopicImage | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        name = self.names.get(topic_id)
        return None if name is None else self.topics.get(name)

    def config(self, resource_type: int, name: str) -> dict[str, str]:
        return self.configs.get(resource_key(resource_type, name)) or {}

    def is_active(self, broker_id: int) -> bool:
        """Whether a broker may lead and be in sync."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def full_brokers(self) -> frozenset[int]:
        """Those whose disks take no more records from producers."""
        return frozenset(broker.id for broker in self.brokers.values() if broker.is_full)

    def default_directory(self, broker_id: int) -> bytes:
        broker = self.brokers.get(broker_id)
        return UNASSIGNED_DIRECTORY if broker is None else broker.default_directory
