"""What the metadata of another cluster becomes on nodes of ours: the same topics, ids and settings, every partition
here. What we cannot take is named, in a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple

from penstock.core.base.errors import ApiError
from penstock.core.base.settings import BrokerSettings
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.metadata.configs import SET, plan_increment
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Image,
    PartitionImage,
    TopicImage,
)
from penstock.core.metadata.snapshot import record_of_partition
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ProducerIdsRecord, TopicRecord

UNSERVED_TOPICS: Final = {
    "__remote_log_metadata": "where segments in remote storage are",
}
"""Topics in which Kafka keeps what we have no machine for, and what is lost without them."""

_REMOTE: Final = "remote.storage.enable"
_OF_REPLICAS: Final = frozenset({"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
"""Settings that name replicas by their brokers, who are not here."""
_NOBODY: Final[Mapping[int, bytes]] = MappingProxyType({})
_NO_EPOCHS: Final[Mapping[tuple[str, int], int]] = MappingProxyType({})
_RESOURCES: Final = {
    BROKER_RESOURCE: "brokers",
    CLIENT_METRICS_RESOURCE: "client metrics",
    GROUP_RESOURCE: "group",
    TOPIC_RESOURCE: "topic",
}


class Home(NamedTuple):
    """Where everything goes: to one node, or shared by several, which are numbered and have a directory each."""

    node_id: int
    directory: bytes
    settings: BrokerSettings
    others: Mapping[int, bytes] = _NOBODY
    epochs: Mapping[tuple[str, int], int] = _NO_EPOCHS
    """Leader epochs that are known to have been, where the image may be older than the records."""

    def replicas(self, count: int, turn: int) -> tuple[int, ...]:
        """So many nodes, as far as there are, others first each time. Each time around their order is another one, so
        that not always the same one takes over from a leader."""
        nodes = [self.node_id, *self.others]
        first, shift = turn % len(nodes), turn // len(nodes)
        rest = nodes[first + 1 :] + nodes[:first]
        at = shift % len(rest) if rest else 0
        return (nodes[first], *(rest[at:] + rest[:at]))[:count]

    def directory_of(self, node_id: int) -> bytes:
        return self.directory if node_id == self.node_id else self.others[node_id]


class Adopted(NamedTuple):
    """An image for the first snapshot of a new folder, and what a person should know about it, a line for each."""

    image: Image
    remarks: list[str]


def adopt(theirs: Image, home: Home) -> Adopted:
    """The image that a node begins with. It names no features: they are written when the node first starts, as in every
    new cluster; and no brokers, because theirs are not here."""
    remarks: list[str] = []
    topics = list(_taken_topics(theirs, remarks))
    records: list[StoredRecord] = []
    turns = count()
    for topic in topics:
        records.append(TopicRecord(name=topic.name, topic_id=topic.id))
        records += [_partition(topic, index, home, next(turns)) for index in range(len(topic))]
    records += theirs.access.records()
    if theirs.next_producer_id:
        records.append(ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=theirs.next_producer_id))
    image, _ = fold(Image(), records, theirs.offset)
    settings = list(_settings(theirs, image, home.settings, remarks))
    return Adopted(fold(image, settings, theirs.offset)[0], remarks + _powerless(theirs))


def _taken_topics(theirs: Image, remarks: list[str]) -> Iterator[TopicImage]:
    for name, topic in sorted(theirs.topics.items()):
        if name == METADATA_TOPIC:
            remarks.append(f"left behind: topic {name} (only the metadata log may have that name)")
        elif name in UNSERVED_TOPICS:
            remarks.append(f"left behind: topic {name} ({UNSERVED_TOPICS[name]})")
        elif theirs.config(TOPIC_RESOURCE, name).get(_REMOTE) == "true":
            remarks.append(f"left behind: topic {name} (part of it may be in remote storage, which is not built)")
        else:
            yield topic


def _partition(topic: TopicImage, index: int, home: Home, turn: int) -> StoredRecord:
    """A new epoch begins: what is written here is told apart from what was written there."""
    theirs = topic.partition(index)
    replicas = home.replicas(len(theirs.replicas), turn)
    epoch = max(theirs.leader_epoch, home.epochs.get((topic.name, index), theirs.leader_epoch)) + 1
    directories = tuple(map(home.directory_of, replicas))
    ours = PartitionImage(replicas, replicas, replicas[0], epoch, theirs.partition_epoch + 1, directories)
    return record_of_partition(topic.id, index, ours)


def _settings(theirs: Image, ours: Image, settings: BrokerSettings, remarks: list[str]) -> Iterator[StoredRecord]:
    for resource, values in sorted(theirs.configs.items()):
        kind_text, _, name = resource.partition("/")
        kind = int(kind_text)
        if kind == TOPIC_RESOURCE and ours.topic(name) is None:
            continue
        if kind == BROKER_RESOURCE and name:
            remarks.append(f"left behind: settings of broker {name} alone ({', '.join(sorted(values))})")
            continue
        for key, value in sorted(values.items()):
            if key in _OF_REPLICAS:
                continue
            try:
                yield from plan_increment(ours, settings, kind, name, [(SET, key, value)])
            except ApiError as error:
                owner = " ".join(filter(None, (_RESOURCES.get(kind, f"resource {kind}"), name)))
                remarks.append(f"left behind: {key}={value} of {owner} ({error.message})")


def _powerless(theirs: Image) -> list[str]:
    """What is taken over, and does something only under a condition: nobody should believe that it does anyway."""
    tokens = len(theirs.access.tokens)
    return [f"{tokens} delegation tokens are kept: they are good under Kafka's own delegation.token.secret.key"] * bool(
        tokens
    )
