"""AssignReplicasToDirs: a broker says that what it has of some partitions is not what was written there.

Kafka's brokers have several directories, and tell with this request in which of them a replica is. Ours have one; what
is left is the directory LOST, which says that a replica is not to be counted on.
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.brokers import LOST_DIRECTORY, check_epoch
from penstock.core.metadata.image import LEADER_UNCHANGED, Image, PartitionImage, TopicImage
from penstock.core.metadata.partition_change import PartitionChange
from penstock.core.metadata.rules import TopicRules, rules_for
from penstock.core.wire.api.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    RequestTopicData,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord

Records = dict[tuple[bytes, int], StoredRecord]


def plan_losses(
    image: Image, settings: BrokerSettings, request: AssignReplicasToDirsRequest
) -> tuple[list[StoredRecord], AssignReplicasToDirsResponse]:
    """Decide about an AssignReplicasToDirs request; a broker that has been replaced is refused as a whole."""
    check_epoch(image.brokers, request.broker_id, request.broker_epoch)
    records: Records = {}
    directories = []
    for directory in request.directories:
        is_lost = directory.id == LOST_DIRECTORY
        topics = [_topic(image, settings, request.broker_id, each, is_lost, records) for each in directory.topics]
        directories.append(ResponseDirectoryData(id=directory.id, topics=topics))
    return list(records.values()), AssignReplicasToDirsResponse(error_code=0, directories=directories)


def _topic(
    image: Image, settings: BrokerSettings, broker_id: int, data: RequestTopicData, is_lost: bool, records: Records
) -> ResponseTopicData:
    topic = image.topic_by_id(data.topic_id)
    answers = []
    for each in data.partitions:
        code = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.INVALID_REQUEST
        if topic is not None and is_lost:
            code = _lose(rules_for(image, settings, topic), topic, each.partition_index, broker_id, records)
        answers.append(ResponsePartitionData(partition_index=each.partition_index, error_code=code))
    return ResponseTopicData(topic_id=data.topic_id, partitions=answers)


def _lose(rules: TopicRules, topic: TopicImage, index: int, broker_id: int, records: Records) -> ErrorCode:
    before = topic.find(index)
    if before is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in before.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not _can_do_without(rules, before, broker_id):
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    change = PartitionChange(rules, before)
    change.drop(broker_id, distrust=True)
    record = change.record(topic.id, index) or PartitionChangeRecord(topic_id=topic.id, partition_id=index)
    if record.leader == LEADER_UNCHANGED:
        # In the epoch that ends here the replica has said that it has everything. A fetch from it that is still under
        # way would bring it back in sync, and it is about to cut its log.
        record.leader = before.leader
    records[topic.id, index] = record
    return ErrorCode.NONE


def _can_do_without(rules: TopicRules, before: PartitionImage, broker_id: int) -> bool:
    """Whether somebody else has everything that is committed, and can lead. If not, what is left of this replica may
    be the only copy."""
    leads = before.leader >= 0
    return leads and any(each != broker_id and rules.may_lead(before, each) for each in before.isr)
