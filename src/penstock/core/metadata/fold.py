"""The fold: image + records -> image, and what changed between the two, which is all that a node acts on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.core.metadata.image import (
    TOPIC_RESOURCE,
    BrokerImage,
    Endpoint,
    Image,
    PartitionImage,
    TopicImage,
    resource_key,
    unified,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)


@dataclass(slots=True)
class Delta:
    """What one fold changed, by name; nodes look the new state up in the image."""

    topics: set[str] = field(default_factory=set)
    removed: dict[str, TopicImage] = field(default_factory=dict)
    configs: set[str] = field(default_factory=set)
    brokers: set[int] = field(default_factory=set)


class Fold:
    """Collects records on top of an image; nothing of the old image is changed."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._topics: dict[str, TopicImage | None] = {}
        self._names: dict[bytes, str | None] = {}
        self._unified_names: dict[str, str | None] = {}
        self._configs: dict[str, dict[str, str] | None] = {}
        self._brokers = dict(image.brokers)
        self._features = dict(image.features)
        self._next_producer_id = image.next_producer_id
        self.delta = Delta()

    def apply(self, record: StoredRecord) -> None:
        _APPLY[type(record)](self, record)

    def finish(self, offset: int) -> Image:
        image = self._image
        return Image(
            offset,
            image.topics.edit(self._topics) if self._topics else image.topics,
            image.names.edit(self._names) if self._names else image.names,
            image.unified_names.edit(self._unified_names) if self._unified_names else image.unified_names,
            image.configs.edit(self._configs) if self._configs else image.configs,
            self._brokers,
            self._features,
            self._next_producer_id,
        )

    def _topic(self, topic_id: bytes) -> TopicImage:
        """The draft of a topic, copied from the old image when first touched."""
        name = self._names.get(topic_id) or self._image.names.get(topic_id)
        assert name is not None, f"a metadata record names the unknown topic id {topic_id.hex()}"
        draft = self._topics.get(name)
        if draft is None:
            known = self._image.topics.get(name)
            assert known is not None
            draft = self._topics[name] = known.copy()
        self.delta.topics.add(name)
        return draft

    def _config(self, key: str) -> dict[str, str]:
        if key not in self._configs:
            self._configs[key] = dict(self._image.configs.get(key) or {})
        found = self._configs[key]
        if found is None:
            found = self._configs[key] = {}
        self.delta.configs.add(key)
        return found

    def _create_topic(self, record: TopicRecord) -> None:
        self._topics[record.name] = TopicImage(record.name, record.topic_id)
        self._names[record.topic_id] = record.name
        self._unified_names[unified(record.name)] = record.name
        self.delta.topics.add(record.name)

    def _put_partition(self, record: PartitionRecord) -> None:
        partition = PartitionImage(
            tuple(record.replicas), tuple(record.isr), record.leader, record.leader_epoch, record.partition_epoch
        )
        self._topic(record.topic_id).put(record.partition_id, partition)

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self._topic(record.topic_id)
        self._topics[topic.name] = None
        self._names[topic.id] = None
        self._unified_names[unified(topic.name)] = None
        self._configs[resource_key(TOPIC_RESOURCE, topic.name)] = None
        self.delta.topics.discard(topic.name)
        self.delta.removed[topic.name] = topic

    def _put_config(self, record: ConfigRecord) -> None:
        config = self._config(resource_key(record.resource_type, record.resource_name))
        if record.value is None:
            config.pop(record.name, None)
        else:
            config[record.name] = record.value

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        endpoints = tuple(Endpoint(point.name, point.host, point.port) for point in record.end_points)
        self._brokers[record.broker_id] = BrokerImage(
            record.broker_id, record.broker_epoch, record.incarnation_id, endpoints, record.rack, record.fenced
        )
        self.delta.brokers.add(record.broker_id)

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        if record.fenced != 0:
            broker = self._brokers[record.broker_id]
            self._brokers[record.broker_id] = replace(broker, fenced=record.fenced > 0)
            self.delta.brokers.add(record.broker_id)

    def _set_feature(self, record: FeatureLevelRecord) -> None:
        self._features[record.name] = record.feature_level

    def _set_producer_ids(self, record: ProducerIdsRecord) -> None:
        self._next_producer_id = record.next_producer_id

    def _ignore(self, record: NoOpRecord) -> None:
        """A no-op only moves the offset."""


_APPLY: dict[type[StoredRecord], Callable[[Fold, Any], None]] = {
    TopicRecord: Fold._create_topic,
    PartitionRecord: Fold._put_partition,
    RemoveTopicRecord: Fold._remove_topic,
    ConfigRecord: Fold._put_config,
    RegisterBrokerRecord: Fold._register_broker,
    BrokerRegistrationChangeRecord: Fold._change_broker,
    FeatureLevelRecord: Fold._set_feature,
    ProducerIdsRecord: Fold._set_producer_ids,
    NoOpRecord: Fold._ignore,
}


def fold(image: Image, records: Iterable[StoredRecord], offset: int) -> tuple[Image, Delta]:
    """Fold a run of records that ends at `offset`."""
    draft = Fold(image)
    for record in records:
        draft.apply(record)
    return draft.finish(offset), draft.delta
