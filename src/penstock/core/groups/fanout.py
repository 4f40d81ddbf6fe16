"""Requests that concern many groups: cut into one part per shard, and the parts' answers put together again.

Each part is a request of the same API that a shard answers by itself. OffsetFetch before version 8 knows one group
only; inside it always has the newer shape, a list of groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from penstock.core.groups.routing import partition_for_group
from penstock.core.wire.api.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from penstock.core.wire.api.list_groups import ListGroupsResponse
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from penstock.core.wire.api.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from penstock.core.wire.api.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse

SEVERAL_GROUPS_FROM = 8


def split_offset_fetch(
    request: OffsetFetchRequest, version: int, partition_count: int
) -> dict[int, OffsetFetchRequest]:
    parts: dict[int, OffsetFetchRequest] = {}
    for group in wanted_groups(request, version):
        shard = partition_for_group(group.group_id, partition_count)
        parts.setdefault(shard, OffsetFetchRequest(require_stable=request.require_stable)).groups.append(group)
    return parts


def wanted_groups(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    """The groups an OffsetFetch of any version asks for."""
    if version >= SEVERAL_GROUPS_FROM:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def merge_offset_fetch(parts: Iterable[OffsetFetchResponse], version: int) -> OffsetFetchResponse:
    groups = [group for part in parts for group in part.groups]
    if version >= SEVERAL_GROUPS_FROM:
        return OffsetFetchResponse(groups=groups)
    (group,) = groups
    return OffsetFetchResponse(error_code=group.error_code, topics=[_single_group_topic(each) for each in group.topics])


def split_describe_groups(request: DescribeGroupsRequest, partition_count: int) -> dict[int, DescribeGroupsRequest]:
    return {
        shard: DescribeGroupsRequest(
            groups=group_ids, include_authorized_operations=request.include_authorized_operations
        )
        for shard, group_ids in _by_shard(request.groups, partition_count).items()
    }


def merge_describe_groups(parts: Iterable[DescribeGroupsResponse]) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[group for part in parts for group in part.groups])


def split_consumer_describe(
    request: ConsumerGroupDescribeRequest, partition_count: int
) -> dict[int, ConsumerGroupDescribeRequest]:
    shards = _by_shard(request.group_ids, partition_count)
    return {shard: ConsumerGroupDescribeRequest(group_ids=group_ids) for shard, group_ids in shards.items()}


def merge_consumer_describe(parts: Iterable[ConsumerGroupDescribeResponse]) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=[group for part in parts for group in part.groups])


def split_share_describe(
    request: ShareGroupDescribeRequest, partition_count: int
) -> dict[int, ShareGroupDescribeRequest]:
    shards = _by_shard(request.group_ids, partition_count)
    return {shard: ShareGroupDescribeRequest(group_ids=group_ids) for shard, group_ids in shards.items()}


def merge_share_describe(parts: Iterable[ShareGroupDescribeResponse]) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(groups=[group for part in parts for group in part.groups])


def split_streams_describe(
    request: StreamsGroupDescribeRequest, partition_count: int
) -> dict[int, StreamsGroupDescribeRequest]:
    shards = _by_shard(request.group_ids, partition_count)
    return {shard: StreamsGroupDescribeRequest(group_ids=group_ids) for shard, group_ids in shards.items()}


def merge_streams_describe(parts: Iterable[StreamsGroupDescribeResponse]) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(groups=[group for part in parts for group in part.groups])


def split_delete_groups(request: DeleteGroupsRequest, partition_count: int) -> dict[int, DeleteGroupsRequest]:
    shards = _by_shard(request.groups_names, partition_count)
    return {shard: DeleteGroupsRequest(groups_names=group_ids) for shard, group_ids in shards.items()}


def merge_delete_groups(parts: Iterable[DeleteGroupsResponse]) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[result for part in parts for result in part.results])


def merge_list_groups(parts: Iterable[ListGroupsResponse]) -> ListGroupsResponse:
    """Every shard gets the whole ListGroups request."""
    return ListGroupsResponse(groups=[group for part in parts for group in part.groups])


def _by_shard(group_ids: Iterable[str], partition_count: int) -> dict[int, list[str]]:
    shards: dict[int, list[str]] = defaultdict(list)
    for group_id in group_ids:
        shards[partition_for_group(group_id, partition_count)].append(group_id)
    return shards


def _single_group_topic(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=each.partition_index,
                committed_offset=each.committed_offset,
                committed_leader_epoch=each.committed_leader_epoch,
                metadata=each.metadata,
                error_code=each.error_code,
            )
            for each in topic.partitions
        ],
    )
