"""The fold: image + records -> image, and what changed between the two, which is all that a node acts on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from penstock.core.base.values import fresh, mutable
from penstock.core.metadata.access import APPLY_ACCESS, AccessDraft
from penstock.core.metadata.brokers import MIGRATING_DIRECTORY, BrokerImage, broker_of, changed, controller_of
from penstock.core.metadata.features import KRAFT_VERSION, METADATA_VERSION
from penstock.core.metadata.image import (
    ORDINARY,
    TOPIC_RESOURCE,
    Image,
    PartitionImage,
    Tally,
    TopicImage,
    UnusualState,
    resource_key,
    unified,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ZkMigrationStateRecord,
)


@mutable
class Delta:
    """What one fold changed, by name; nodes look the new state up in the image."""

    topics: set[str] = fresh(default_factory=set)
    removed: dict[str, TopicImage] = fresh(default_factory=dict)
    is_recorded: bool = True
    """Whether records say so. A snapshot only lacks what is removed, and may be of metadata that was lost."""
    grown: set[str] = fresh(default_factory=set)
    """Topics that are new or have new partitions; after a snapshot perhaps some that have not."""
    configs: set[str] = fresh(default_factory=set)
    brokers: set[int] = fresh(default_factory=set)


class Fold:
    """Collects records on top of an image; nothing of the old image is changed."""

    def __init__(self, image: Image, offset: int) -> None:
        self._image = image
        self._offset = offset
        self._topics: dict[str, TopicImage | None] = {}
        self._names: dict[bytes, str | None] = {}
        self._unified_names: dict[str, str | None] = {}
        self._configs: dict[str, dict[str, str] | None] = {}
        self._brokers = dict(image.brokers)
        self._controllers = image.controllers
        self._features = dict(image.features)
        self._next_producer_id = image.next_producer_id
        self._access: AccessDraft | None = None
        self._leading = dict(image.tally.leading)
        self._reassigning = image.tally.reassigning
        self._unfinished = None if image.unfinished is None else list(image.unfinished)
        self.delta = Delta()

    def apply(self, record: StoredRecord) -> None:
        if self._unfinished is not None and type(record) not in _TRANSACTION_ENDS:
            self._unfinished.append(record)
        else:
            _APPLY[type(record)](self, record)

    def finish(self) -> Image:
        image = self._image
        return Image(
            self._offset,
            image.topics.edit(self._topics) if self._topics else image.topics,
            image.names.edit(self._names) if self._names else image.names,
            image.unified_names.edit(self._unified_names) if self._unified_names else image.unified_names,
            image.configs.edit(_without_empty(self._configs)) if self._configs else image.configs,
            self._brokers,
            self._features,
            self._next_producer_id,
            self._controllers,
            image.access if self._access is None else self._access.finish(),
            Tally(self._leading, self._reassigning),
            None if self._unfinished is None else tuple(self._unfinished),
        )

    def _topic(self, topic_id: bytes) -> TopicImage:
        """The draft of a topic, copied from the old image when first touched."""
        name = self._names.get(topic_id) or self._image.names.get(topic_id)
        assert name is not None, f"a metadata record names the unknown topic id {topic_id.hex()}"
        return self._draft(name)

    def _draft(self, name: str) -> TopicImage:
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
        topic = self._topic(record.topic_id)
        before = topic.find(record.partition_id)
        if before is None:
            self.delta.grown.add(topic.name)
        self._set(topic, record.partition_id, before, _partition_of(record))

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self._topic(record.topic_id)
        before = topic.partition(record.partition_id)
        self._set(topic, record.partition_id, before, before.merged(record))

    def _set(self, topic: TopicImage, index: int, before: PartitionImage | None, after: PartitionImage) -> None:
        if before is not None:
            self._count(before, -1)
        self._count(after, 1)
        topic.put(index, after)

    def _count(self, partition: PartitionImage, sign: int) -> None:
        leading = self._leading
        count = leading.get(partition.leader, 0) + sign
        if count:
            leading[partition.leader] = count
        else:
            del leading[partition.leader]
        if partition.is_reassigning:
            self._reassigning += sign

    def _clear_eligible(self, record: ClearElrRecord) -> None:
        """Forget eligible leaders, because another number of in-sync replicas is asked for. No name: of all topics."""
        names = [record.topic_name] if record.topic_name else [*{**dict.fromkeys(self._image.topics), **self._topics}]
        for name in names:
            known = self._topics[name] if name in self._topics else self._image.topics.get(name)
            if known is not None and any(known.standings.codes):
                self._clear_topic(self._draft(name))

    def _clear_topic(self, topic: TopicImage) -> None:
        for index in range(len(topic)):
            standing = topic.standings[index]
            if standing.elr or standing.last_known_elr:
                before = topic.partition(index)
                cleared = standing._replace(elr=(), last_known_elr=())
                topic.put(index, before._replace(standing=cleared, partition_epoch=before.partition_epoch + 1))

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self._topic(record.topic_id)
        for index in range(len(topic)):
            self._count(topic.partition(index), -1)
        self._topics[topic.name] = None
        self._names[topic.id] = None
        self._unified_names[unified(topic.name)] = None
        self._configs[resource_key(TOPIC_RESOURCE, topic.name)] = None
        self.delta.topics.discard(topic.name)
        self.delta.grown.discard(topic.name)
        self.delta.removed[topic.name] = topic

    def _put_config(self, record: ConfigRecord) -> None:
        config = self._config(resource_key(record.resource_type, record.resource_name))
        if record.value is None:
            config.pop(record.name, None)
        else:
            config[record.name] = record.value

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self._set_broker(broker_of(record, self._offset))

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._broker(record.broker_id, record.broker_epoch)
        del self._brokers[record.broker_id]
        self.delta.brokers.add(record.broker_id)

    def _fence_broker(self, record: FenceBrokerRecord) -> None:
        self._set_broker(replace(self._broker(record.id, record.epoch), fenced=True))

    def _unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self._set_broker(replace(self._broker(record.id, record.epoch), fenced=False))

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        self._set_broker(changed(self._broker(record.broker_id, record.broker_epoch), record))

    def _broker(self, broker_id: int, epoch: int) -> BrokerImage:
        broker = self._brokers.get(broker_id)
        assert broker is not None, f"a metadata record names the unknown broker {broker_id}"
        assert broker.epoch == epoch, (
            f"a metadata record is for epoch {epoch} of broker {broker_id}, not {broker.epoch}"
        )
        return broker

    def _set_broker(self, broker: BrokerImage) -> None:
        self._brokers[broker.id] = broker
        self.delta.brokers.add(broker.id)

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        self._controllers = {**self._controllers, record.controller_id: controller_of(record)}

    def _set_feature(self, record: FeatureLevelRecord) -> None:
        if record.name == KRAFT_VERSION:
            return  # The quorum keeps its own, in control records.
        if record.feature_level == 0 and record.name != METADATA_VERSION:
            self._features.pop(record.name, None)
        else:
            self._features[record.name] = record.feature_level

    def _set_producer_ids(self, record: ProducerIdsRecord) -> None:
        self._next_producer_id = record.next_producer_id

    def _change_access(self, record: StoredRecord) -> None:
        if self._access is None:
            self._access = AccessDraft(self._image.access)
        APPLY_ACCESS[type(record)](self._access, record)

    def _begin(self, record: BeginTransactionRecord) -> None:
        self._unfinished = []

    def _end(self, record: EndTransactionRecord) -> None:
        records, self._unfinished = self._unfinished, None
        for each in records or ():
            self.apply(each)

    def _abort(self, record: AbortTransactionRecord) -> None:
        self._unfinished = None

    def _ignore(self, record: NoOpRecord | ZkMigrationStateRecord) -> None:
        """These only move the offset."""


def _partition_of(record: PartitionRecord) -> PartitionImage:
    return PartitionImage(
        tuple(record.replicas),
        tuple(record.isr),
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        tuple(record.directories) or (MIGRATING_DIRECTORY,) * len(record.replicas),
        _standing_of(record),
    )


def _standing_of(record: PartitionRecord) -> UnusualState:
    moving = record.adding_replicas or record.removing_replicas
    eligible = record.eligible_leader_replicas or record.last_known_elr
    if not (moving or eligible or record.leader_recovery_state):
        return ORDINARY
    return UnusualState(
        tuple(record.adding_replicas),
        tuple(record.removing_replicas),
        tuple(record.eligible_leader_replicas or ()),
        tuple(record.last_known_elr or ()),
        record.leader_recovery_state,
    )


def _without_empty(configs: dict[str, dict[str, str] | None]) -> dict[str, dict[str, str] | None]:
    """What has no settings left is not kept, as no snapshot tells of it."""
    return {key: values or None for key, values in configs.items()}


_TRANSACTION_ENDS = (EndTransactionRecord, AbortTransactionRecord)

_APPLY: dict[type[StoredRecord], Callable[[Fold, Any], None]] = {
    TopicRecord: Fold._create_topic,
    PartitionRecord: Fold._put_partition,
    PartitionChangeRecord: Fold._change_partition,
    ClearElrRecord: Fold._clear_eligible,
    RemoveTopicRecord: Fold._remove_topic,
    ConfigRecord: Fold._put_config,
    RegisterBrokerRecord: Fold._register_broker,
    UnregisterBrokerRecord: Fold._unregister_broker,
    FenceBrokerRecord: Fold._fence_broker,
    UnfenceBrokerRecord: Fold._unfence_broker,
    BrokerRegistrationChangeRecord: Fold._change_broker,
    RegisterControllerRecord: Fold._register_controller,
    FeatureLevelRecord: Fold._set_feature,
    ProducerIdsRecord: Fold._set_producer_ids,
    BeginTransactionRecord: Fold._begin,
    EndTransactionRecord: Fold._end,
    AbortTransactionRecord: Fold._abort,
    NoOpRecord: Fold._ignore,
    ZkMigrationStateRecord: Fold._ignore,
    **dict.fromkeys(APPLY_ACCESS, Fold._change_access),
}


def fold(image: Image, records: Iterable[StoredRecord], offset: int) -> tuple[Image, Delta]:
    """Fold a run of records that ends at `offset`."""
    draft = Fold(image, offset)
    for record in records:
        draft.apply(record)
    return draft.finish(), draft.delta
