"""Requests that are small for a client to make and large for a node to think of: arrays of a million elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest
from penstock.core.wire.api.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest
from penstock.core.wire.api.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from penstock.core.wire.api.describe_producers import DescribeProducersRequest
from penstock.core.wire.api.describe_producers import TopicRequest as DescribeProducersTopic
from penstock.core.wire.api.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, TopicPartitions
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.leave_group import LeaveGroupRequest, MemberIdentity
from penstock.core.wire.api.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from penstock.core.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from penstock.core.wire.api.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.core.wire.schema import Request
from penstock.core.wire.varint import encode_varint
from tests.robustness.hostile.target import Case, Target, frame_of

FAR_TOO_MANY = 1_000_000
EACH_COSTS, NAMES, OTHERS = 11_000, 29_000, 125_000
"""A little less than is allowed."""
IN_FLIGHT = 2


def with_elements(build: Callable[[int], Request], version: int, count: int) -> bytes:
    """The frame of a request with so many equal elements. To build and encode a million takes a client some seconds,
    so this compares the request that has one with the request that has two."""
    one, two = (frame_of(build(each), version)[4:] for each in (1, 2))
    size = len(two) - len(one)
    place = next(at for at in range(len(one)) if one[at] != two[at])
    head, element, tail = one[:place], one[place + 1 : place + 1 + size], one[place + 1 + size :]
    if type(build(1)).is_flexible(version):
        head += encode_varint(count + 1)
    else:
        head = head[:-3] + count.to_bytes(4, "big")
    body = head + element * count + tail
    return len(body).to_bytes(4, "big") + body


def refused(build: Callable[[int], Request], version: int, target: Target) -> None:
    """The node hangs up, and has not thought about it for long."""
    with target.connect() as peer:
        peer.send(with_elements(build, version, FAR_TOO_MANY))
        assert peer.answer() is None


def answered(build: Callable[[int], Request], version: int, count: int, target: Target) -> None:
    """One right behind the other."""
    frame = with_elements(build, version, count)
    with target.connect() as peer:
        assert peer.send(frame * IN_FLIGHT)
        for _ in range(IN_FLIGHT):
            assert peer.answer() is not None


def describe_groups(count: int) -> Request:
    return DescribeGroupsRequest(groups=["g"] * count)


def delete_groups(count: int) -> Request:
    return DeleteGroupsRequest(groups_names=["g"] * count)


def metadata(count: int) -> Request:
    return MetadataRequest(topics=[MetadataRequestTopic(name="good")] * count, allow_auto_topic_creation=False)


def describe_configs(count: int) -> Request:
    return DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=2, resource_name="good")] * count)


def find_coordinator(count: int) -> Request:
    return FindCoordinatorRequest(coordinator_keys=["g"] * count)


def delete_topics(count: int) -> Request:
    return DeleteTopicsRequest(topic_names=["none"] * count)


def offset_fetch(count: int) -> Request:
    return OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0] * count)])


def offset_fetch_groups(count: int) -> Request:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)] * count)


def list_offsets(count: int) -> Request:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    return ListOffsetsRequest(topics=[ListOffsetsTopic(name="good", partitions=[partition] * count)])


def produce(count: int) -> Request:
    partition = PartitionProduceData(index=0, records=b"")
    data = [TopicProduceData(name="good", partition_data=[partition] * count)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data)


def offset_commit(count: int) -> Request:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topic = OffsetCommitRequestTopic(name="good", partitions=[partition] * count)
    return OffsetCommitRequest(group_id="g", topics=[topic])


def fetch(count: int) -> Request:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="good", partitions=[partition] * count)])


def create_topics(count: int) -> Request:
    topic = CreatableTopic(name="good", num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic] * count, validate_only=True)


def create_partitions(count: int) -> Request:
    topic = CreatePartitionsTopic(name="good", count=1, assignments=None)
    return CreatePartitionsRequest(topics=[topic] * count, validate_only=True)


def alter_configs(count: int) -> Request:
    return IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=2, resource_name="good")] * count, validate_only=True
    )


def delete_records(count: int) -> Request:
    partition = DeleteRecordsPartition(partition_index=7, offset=0)
    topic = DeleteRecordsTopic(name="good", partitions=[partition] * count)
    return DeleteRecordsRequest(topics=[topic], timeout_ms=10)


def leader_epochs(count: int) -> Request:
    partition = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = OffsetForLeaderTopic(topic="good", partitions=[partition] * count)
    return OffsetForLeaderEpochRequest(topics=[topic])


def offset_delete(count: int) -> Request:
    partition = OffsetDeleteRequestPartition(partition_index=0)
    topic = OffsetDeleteRequestTopic(name="good", partitions=[partition] * count)
    return OffsetDeleteRequest(group_id="g", topics=[topic])


def describe_topic_partitions(count: int) -> Request:
    return DescribeTopicPartitionsRequest(topics=[TopicRequest(name="good")] * count)


def describe_producers(count: int) -> Request:
    topic = DescribeProducersTopic(name="good", partition_indexes=[0] * count)
    return DescribeProducersRequest(topics=[topic])


def describe_log_dirs(count: int) -> Request:
    return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="good", partitions=[0] * count)])


def reassignments(count: int) -> Request:
    partition = ReassignablePartition(partition_index=0, replicas=[1])
    topic = ReassignableTopic(name="good", partitions=[partition] * count)
    return AlterPartitionReassignmentsRequest(topics=[topic])


def list_reassignments(count: int) -> Request:
    topic = ListPartitionReassignmentsTopics(name="good", partition_indexes=[0] * count)
    return ListPartitionReassignmentsRequest(topics=[topic])


def elect_leaders(count: int) -> Request:
    return ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="good", partitions=[0] * count)])


def leave_group(count: int) -> Request:
    return LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m", group_instance_id=None)] * count)


def join_group(count: int) -> Request:
    protocol = JoinGroupRequestProtocol(name="p", metadata=b"")
    return JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, member_id="", protocol_type="consumer", protocols=[protocol] * count
    )


def sync_group(count: int) -> Request:
    assignment = SyncGroupRequestAssignment(member_id="m", assignment=b"")
    return SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[assignment] * count)


_TRIED = {
    "DescribeGroups": (describe_groups, 5, NAMES),
    "DeleteGroups": (delete_groups, 2, NAMES),
    "Metadata": (metadata, 9, NAMES),
    "DescribeConfigs": (describe_configs, 4, NAMES),
    "FindCoordinator": (find_coordinator, 4, NAMES),
    "DeleteTopics": (delete_topics, 5, OTHERS),
    "OffsetFetch": (offset_fetch, 7, OTHERS),
    "OffsetFetch of groups": (offset_fetch_groups, 8, OTHERS // 3),
    "OffsetCommit": (offset_commit, 8, OTHERS),
    "OffsetDelete": (offset_delete, 0, EACH_COSTS),
    "ListOffsets": (list_offsets, 6, OTHERS),
    "Produce": (produce, 11, EACH_COSTS),
    "Fetch": (fetch, 11, OTHERS),
    "CreateTopics": (create_topics, 5, OTHERS),
    "CreatePartitions": (create_partitions, 2, OTHERS),
    "IncrementalAlterConfigs": (alter_configs, 1, EACH_COSTS),
    "DeleteRecords": (delete_records, 2, NAMES),
    "OffsetForLeaderEpoch": (leader_epochs, 4, OTHERS),
    "DescribeTopicPartitions": (describe_topic_partitions, 0, OTHERS),
    "DescribeProducers": (describe_producers, 0, NAMES),
    "DescribeLogDirs": (describe_log_dirs, 4, OTHERS),
    "AlterPartitionReassignments": (reassignments, 0, NAMES // 2),
    "ListPartitionReassignments": (list_reassignments, 0, NAMES),
    "ElectLeaders": (elect_leaders, 2, OTHERS),
    "LeaveGroup": (leave_group, 4, EACH_COSTS),
    "JoinGroup": (join_group, 5, OTHERS),
    "SyncGroup": (sync_group, 3, OTHERS),
}

QUICK = ("Metadata", "DescribeConfigs", "DescribeGroups", "OffsetFetch", "ListOffsets", "OffsetCommit")

CASES: dict[str, Case] = {
    **{f"too many elements: {name}": partial(refused, *tried[:2]) for name, tried in _TRIED.items()},
    **{f"as many elements as may be: {name}": partial(answered, *_TRIED[name]) for name in QUICK},
}
LONG_CASES: dict[str, Case] = {
    f"as many elements as may be: {name}": partial(answered, *tried)
    for name, tried in _TRIED.items()
    if name not in QUICK
}
