"""DescribeQuorum: how far everyone has come, as the leader sees it."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.errors import ErrorCode
from penstock.core.raft.ids import TOPIC
from penstock.core.raft.leader import LeaderState, Progress
from penstock.core.raft.member import Member
from penstock.core.wire.api.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from penstock.core.wire.fields import ZERO_UUID

_WITH_NODES = 2
"""From this version on, directories and addresses are told."""


def describe_quorum(
    member: Member, request: DescribeQuorumRequest, version: int, now_ms: int
) -> DescribeQuorumResponse:
    asked = [
        (topic.topic_name, partition.partition_index) for topic in request.topics for partition in topic.partitions
    ]
    if asked != [(TOPIC, 0)]:
        return _refused(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    leader = member.role
    if not isinstance(leader, LeaderState):
        return _refused(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    leader.forget_silent_observers(now_ms)
    partition = ResponsePartitionData(
        partition_index=0,
        error_code=ErrorCode.NONE,
        leader_id=member.local.key.id,
        leader_epoch=member.epoch,
        high_watermark=leader.high_watermark,
        current_voters=_states(member, leader.voters.values(), version, now_ms),
        observers=_states(member, leader.observers.values(), version, now_ms),
    )
    topic = ResponseTopicData(topic_name=TOPIC, partitions=[partition])
    nodes = [_node(progress) for progress in leader.voters.values()] if version >= _WITH_NODES else []
    return DescribeQuorumResponse(topics=[topic], nodes=nodes)


def _refused(request: DescribeQuorumRequest, code: ErrorCode) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    ResponsePartitionData(
                        partition_index=partition.partition_index, error_code=code, error_message=code.name
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _states(member: Member, replicas: Iterable[Progress], version: int, now_ms: int) -> list[ReplicaState]:
    return [_state(member, progress, version, now_ms) for progress in replicas]


def _state(member: Member, progress: Progress, version: int, now_ms: int) -> ReplicaState:
    is_local = progress.key.id == member.local.key.id
    return ReplicaState(
        replica_id=progress.key.id,
        replica_directory_id=progress.key.directory_id if version >= _WITH_NODES else ZERO_UUID,
        log_end_offset=progress.end_offset,
        last_fetch_timestamp=now_ms if is_local else progress.fetched_ms,
        last_caught_up_timestamp=now_ms if is_local else progress.caught_up_ms,
    )


def _node(progress: Progress) -> Node:
    listeners = [Listener(name=name, host=host, port=port) for name, host, port, _ in progress.endpoints]
    return Node(node_id=progress.key.id, listeners=listeners)
