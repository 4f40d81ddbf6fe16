"""An image as records, in an order in which they can be folded: what a snapshot of the metadata log holds."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.metadata.brokers import controller_record, record_of
from penstock.core.metadata.features import METADATA_VERSION
from penstock.core.metadata.image import Image, PartitionImage, TopicImage
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    BeginTransactionRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)


def image_records(image: Image) -> Iterator[StoredRecord]:
    """Everything that makes the image, record by record: who writes a large one takes some per turn."""
    yield from _features(image)
    for controller in image.controllers.values():
        yield controller_record(controller)
    for broker in image.brokers.values():
        yield record_of(broker)
    for topic in image.topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index in range(len(topic)):
            yield partition_record(topic, index)
    for key, values in image.configs.items():
        kind, _, name = key.partition("/")
        for setting, value in values.items():
            yield ConfigRecord(resource_type=int(kind), resource_name=name, name=setting, value=value)
    yield from image.access.records()
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
    if image.unfinished is not None:
        yield BeginTransactionRecord()
        yield from image.unfinished


def _features(image: Image) -> Iterator[StoredRecord]:
    """The level of the metadata comes first: it says how to read the rest."""
    for name, level in sorted(image.features.items(), key=lambda feature: (feature[0] != METADATA_VERSION, feature)):
        yield FeatureLevelRecord(name=name, feature_level=level)


def partition_record(topic: TopicImage, index: int) -> PartitionRecord:
    return record_of_partition(topic.id, index, topic.partition(index))


def record_of_partition(topic_id: bytes, index: int, partition: PartitionImage) -> PartitionRecord:
    standing = partition.standing
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(standing.removing),
        adding_replicas=list(standing.adding),
        leader=partition.leader,
        leader_recovery_state=standing.recovery,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(standing.elr) or None,
        last_known_elr=list(standing.last_known_elr) or None,
    )
