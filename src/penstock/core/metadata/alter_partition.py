"""AlterPartition: a leader tells who is in sync with it, and hears what the partition is from now on."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.values import fresh, mutable
from penstock.core.metadata.brokers import check_epoch
from penstock.core.metadata.image import LEADER_UNCHANGED, RECOVERED, RECOVERING, Image, PartitionImage, TopicImage
from penstock.core.metadata.partition_change import PartitionChange
from penstock.core.metadata.rules import TopicRules, rules_for
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord

EPOCHS_SINCE = 3
"""The request version in which each member of the in-sync set comes with its broker epoch."""
ANY_EPOCH = -1


def plan_alteration(
    image: Image, settings: BrokerSettings, request: AlterPartitionRequest, version: int
) -> tuple[list[StoredRecord], AlterPartitionResponse]:
    """Decide about an AlterPartition request; a broker that has been replaced is refused as a whole."""
    check_epoch(image.brokers, request.broker_id, request.broker_epoch)
    plan = _Plan(image, settings, request.broker_id, version)
    answers = [plan.topic(topic) for topic in request.topics]
    return plan.records, AlterPartitionResponse(topics=answers)


@mutable
class _Plan:
    image: Image
    settings: BrokerSettings
    broker_id: int
    version: int
    records: list[StoredRecord] = fresh(default_factory=list)
    _changed: dict[tuple[bytes, int], PartitionImage] = fresh(default_factory=dict)
    """What this request has already changed, for those that name a partition twice."""

    def topic(self, data: RequestTopicData) -> ResponseTopicData:
        topic = self.image.topic_by_id(data.topic_id)
        if topic is None:
            answers = [_refused(each.partition_index, ErrorCode.UNKNOWN_TOPIC_ID) for each in data.partitions]
        else:
            rules = rules_for(self.image, self.settings, topic)
            answers = [self._partition(rules, topic, each) for each in data.partitions]
        return ResponseTopicData(topic_id=data.topic_id, partitions=answers)

    def _partition(self, rules: TopicRules, topic: TopicImage, data: RequestPartitionData) -> ResponsePartitionData:
        index = data.partition_index
        before = self._changed.get((topic.id, index)) or topic.find(index)
        if before is None:
            return _refused(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        members = self._members(data)
        code = refusal(self.image, self.broker_id, before, data, members)
        if code is not ErrorCode.NONE:
            return _refused(index, code)
        change = PartitionChange(rules, before)
        change.isr = tuple(member.broker_id for member in members)
        change.recovery = data.leader_recovery_state
        record = change.record(topic.id, index)
        if record is None:
            return _accepted(index, before)
        return self._write(topic, index, before, record)

    def _write(
        self, topic: TopicImage, index: int, before: PartitionImage, record: PartitionChangeRecord
    ) -> ResponsePartitionData:
        self.records.append(record)
        after = self._changed[topic.id, index] = before.merged(record)
        if record.leader not in (LEADER_UNCHANGED, self.broker_id):
            # The change completed a move that ends this broker's leadership: both a change and an error.
            return _refused(index, ErrorCode.NEW_LEADER_ELECTED)
        return _accepted(index, after)

    def _members(self, data: RequestPartitionData) -> list[BrokerState]:
        if self.version >= EPOCHS_SINCE:
            return data.new_isr_with_epochs
        return [BrokerState(broker_id=each, broker_epoch=ANY_EPOCH) for each in data.new_isr]


def refusal(
    image: Image, broker_id: int, known: PartitionImage, data: RequestPartitionData, members: Sequence[BrokerState]
) -> ErrorCode:
    """Why the change cannot be, in the order in which Kafka asks."""
    if data.leader_epoch > known.leader_epoch or data.partition_epoch > known.partition_epoch:
        # The leader has seen more than we have: we are not the controller any more.
        return ErrorCode.NOT_CONTROLLER
    if data.leader_epoch < known.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != known.leader:
        return ErrorCode.INVALID_REQUEST
    if data.partition_epoch < known.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    ids = [member.broker_id for member in members]
    if broker_id not in ids or len(set(ids)) != len(ids) or not set(ids) <= set(known.replicas):
        return ErrorCode.INVALID_REQUEST
    if not _may_recover(known, data.leader_recovery_state, len(ids)):
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(image, member) for member in members):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _may_recover(known: PartitionImage, wanted: int, in_sync: int) -> bool:
    """A leader that recovers from an unclean election is alone, and a recovered one does not begin again."""
    if wanted == RECOVERED:
        return True
    return wanted == RECOVERING and in_sync <= 1 and known.standing.recovery == RECOVERING


def _is_eligible(image: Image, member: BrokerState) -> bool:
    """Whether a replica may be in sync: alive, and the same process that the leader has heard of."""
    broker = image.brokers.get(member.broker_id)
    return broker is not None and broker.is_active and member.broker_epoch in (ANY_EPOCH, broker.epoch)


def _refused(index: int, code: ErrorCode) -> ResponsePartitionData:
    return ResponsePartitionData(partition_index=index, error_code=code)


def _accepted(index: int, partition: PartitionImage) -> ResponsePartitionData:
    return ResponsePartitionData(
        partition_index=index,
        error_code=0,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.standing.recovery,
        partition_epoch=partition.partition_epoch,
    )
