"""The image: what the cluster looks like at one offset of the metadata log. Immutable, shared by everyone who reads.

Partitions live in flat arrays per topic, and replica sets are interned, so that a partition costs a few dozen bytes
that the garbage collector never walks.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from penstock.core.metadata.sharded import ShardedMap

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32

ReplicaSet = tuple[int, ...]
_interned: dict[ReplicaSet, ReplicaSet] = {}


def intern_replicas(replicas: ReplicaSet) -> ReplicaSet:
    """One shared tuple per distinct replica set: a million partitions know only a few thousand of them."""
    return _interned.setdefault(replicas, replicas)


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """One partition, as a value: how records and readers speak of it."""

    replicas: ReplicaSet
    isr: ReplicaSet
    leader: int
    leader_epoch: int
    partition_epoch: int


class TopicImage:
    """One topic and its partitions, in arrays indexed by partition."""

    __slots__ = ("id", "isrs", "leader_epochs", "leaders", "name", "partition_epochs", "replicas")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.id = topic_id
        self.leaders = array("i")
        self.leader_epochs = array("i")
        self.partition_epochs = array("i")
        self.replicas: list[ReplicaSet] = []
        self.isrs: list[ReplicaSet] = []

    def __len__(self) -> int:
        return len(self.leaders)

    def partition(self, index: int) -> PartitionImage:
        return PartitionImage(
            self.replicas[index],
            self.isrs[index],
            self.leaders[index],
            self.leader_epochs[index],
            self.partition_epochs[index],
        )

    def copy(self) -> TopicImage:
        """A version that a fold may still change; published versions never change."""
        other = TopicImage(self.name, self.id)
        other.leaders = self.leaders[:]
        other.leader_epochs = self.leader_epochs[:]
        other.partition_epochs = self.partition_epochs[:]
        other.replicas = self.replicas[:]
        other.isrs = self.isrs[:]
        return other

    def put(self, index: int, partition: PartitionImage) -> None:
        """Set one partition; partitions arrive in order, so the next index appends. Only for unpublished copies."""
        count = len(self.leaders)
        assert 0 <= index <= count, f"partition {index} of {self.name} arrived before {count}"
        replicas, isr = intern_replicas(partition.replicas), intern_replicas(partition.isr)
        if index == count:
            self.leaders.append(partition.leader)
            self.leader_epochs.append(partition.leader_epoch)
            self.partition_epochs.append(partition.partition_epoch)
            self.replicas.append(replicas)
            self.isrs.append(isr)
            return
        self.leaders[index] = partition.leader
        self.leader_epochs[index] = partition.leader_epoch
        self.partition_epochs[index] = partition.partition_epoch
        self.replicas[index] = replicas
        self.isrs[index] = isr


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a broker listens, by listener name."""

    listener: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker."""

    id: int
    epoch: int
    incarnation: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    fenced: bool

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((point for point in self.endpoints if point.listener == listener), None)


def unified(name: str) -> str:
    """A topic's name as metrics tell it, where '.' and '_' are the same."""
    return name.replace(".", "_")


def resource_key(resource_type: int, name: str) -> str:
    """Key of a configured resource in the image."""
    return f"{resource_type}/{name}"


@dataclass(frozen=True, slots=True)
class Image:
    """The whole, as of `offset` (the last record folded in)."""

    offset: int = -1
    topics: ShardedMap[str, TopicImage] = field(default_factory=ShardedMap)
    names: ShardedMap[bytes, str] = field(default_factory=ShardedMap)
    unified_names: ShardedMap[str, str] = field(default_factory=ShardedMap)
    configs: ShardedMap[str, dict[str, str]] = field(default_factory=ShardedMap)
    brokers: dict[int, BrokerImage] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    next_producer_id: int = 0

    def topic(self, name: str) -> TopicImage | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        name = self.names.get(topic_id)
        return None if name is None else self.topics.get(name)

    def config(self, resource_type: int, name: str) -> dict[str, str]:
        return self.configs.get(resource_key(resource_type, name)) or {}
