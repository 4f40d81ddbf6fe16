"""What a group request gets when no shard can answer it: not in charge, still loading, not allowed.

The error sits in another place of each response, and in some not in the same one in every version.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.fanout import SEVERAL_GROUPS_FROM, wanted_groups
from penstock.core.wire import Message
from penstock.core.wire.api.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from penstock.core.wire.api.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupResponse
from penstock.core.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse
from penstock.core.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from penstock.core.wire.api.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupResponse

_ERROR_PER_RESPONSE_FROM = 2
_NO_OFFSET = -1


def refused(request: Message, version: int, code: ErrorCode) -> Message:
    """The response to any request about groups that says `code` and nothing else."""
    return _REFUSALS[type(request)](request, version, code)


def _join(request: JoinGroupRequest, version: int, code: ErrorCode) -> Message:
    return JoinGroupResponse(error_code=code, member_id=request.member_id)


def _heartbeat(request: HeartbeatRequest, version: int, code: ErrorCode) -> Message:
    # While the log is read nobody's session can end, so there is nothing to worry a member with.
    loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return HeartbeatResponse(error_code=ErrorCode.NONE if loading else code)


def _offset_commit(request: OffsetCommitRequest, version: int, code: ErrorCode) -> Message:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_fetch(request: OffsetFetchRequest, version: int, code: ErrorCode) -> Message:
    if version >= SEVERAL_GROUPS_FROM:
        groups = wanted_groups(request, version)
        return OffsetFetchResponse(
            groups=[OffsetFetchResponseGroup(group_id=group.group_id, error_code=code) for group in groups]
        )
    if version >= _ERROR_PER_RESPONSE_FROM:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=index, committed_offset=_NO_OFFSET, error_code=code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or []
        ]
    )


def _describe_groups(request: DescribeGroupsRequest, version: int, code: ErrorCode) -> Message:
    return DescribeGroupsResponse(groups=[DescribedGroup(group_id=each, error_code=code) for each in request.groups])


def _delete_groups(request: DeleteGroupsRequest, version: int, code: ErrorCode) -> Message:
    results = [DeletableGroupResult(group_id=each, error_code=code) for each in dict.fromkeys(request.groups_names)]
    return DeleteGroupsResponse(results=results)


_REFUSALS: dict[type[Message], Callable[..., Message]] = {
    JoinGroupRequest: _join,
    SyncGroupRequest: lambda request, version, code: SyncGroupResponse(error_code=code),
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: lambda request, version, code: LeaveGroupResponse(error_code=code),
    OffsetCommitRequest: _offset_commit,
    OffsetFetchRequest: _offset_fetch,
    OffsetDeleteRequest: lambda request, version, code: OffsetDeleteResponse(error_code=code),
    DescribeGroupsRequest: _describe_groups,
    ListGroupsRequest: lambda request, version, code: ListGroupsResponse(error_code=code),
    DeleteGroupsRequest: _delete_groups,
}
