"""What a client knows of a cluster: the brokers, and who leads which partition."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.metadata import MetadataResponse, MetadataResponseTopic

NO_NODE = -1


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class BrokerView(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


class PartitionView(NamedTuple):
    number: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]


class TopicView(NamedTuple):
    name: str
    topic_id: bytes
    is_internal: bool
    partitions: tuple[PartitionView, ...]

    @property
    def numbers(self) -> str:
        """Which partitions there are, for people."""
        last = len(self.partitions) - 1
        return f"its partitions are 0 to {last}" if last else "its only partition is 0"


class ClusterView:
    """The newest answer of each kind: brokers and controller as a whole, topics one by one."""

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller = NO_NODE
        self.brokers: dict[int, BrokerView] = {}
        self.topics: dict[str, TopicView] = {}
        self.names: dict[bytes, str] = {}

    def take(self, answer: MetadataResponse, *, is_whole: bool = False) -> None:
        """Learn from a Metadata answer; topics with an error are forgotten, and all that a whole answer does not name:
        a broker that heard late of a deletion may have named one once more."""
        if is_whole:
            self.topics.clear()
        self.cluster_id = answer.cluster_id
        self.controller = answer.controller_id
        self.brokers = {b.node_id: BrokerView(b.node_id, b.host, b.port, b.rack) for b in answer.brokers}
        for topic in answer.topics:
            if topic.name is None:
                continue
            if topic.error_code == ErrorCode.NONE:
                self.topics[topic.name] = _view(topic.name, topic)
                self.names[topic.topic_id] = topic.name
            else:
                self.topics.pop(topic.name, None)


def _view(name: str, topic: MetadataResponseTopic) -> TopicView:
    partitions = sorted(
        PartitionView(
            p.partition_index,
            p.leader_id,
            p.leader_epoch,
            tuple(p.replica_nodes),
            tuple(p.isr_nodes),
            tuple(p.offline_replicas),
        )
        for p in topic.partitions
    )
    return TopicView(name, topic.topic_id, topic.is_internal, tuple(partitions))
