"""DeleteRecords (21). Versions 0 to 2: move a log's start; -1 means up to the high watermark."""

from __future__ import annotations

from penstock.core.apis.lookup import find_partition
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

TO_HIGH_WATERMARK = -1
NO_OFFSET = -1


def handle(node: Node, request: DeleteRecordsRequest, slot: Slot) -> Answer:
    return _answer(node, request)


def _answer(node: Node, request: DeleteRecordsRequest) -> Steps[DeleteRecordsResponse]:
    topics = []
    for topic in request.topics:
        results = []
        for wanted in topic.partitions:
            try:
                partition = find_partition(node, topic.name, wanted.partition_index)
                low = yield from _delete(partition, wanted.offset)
                code = 0
            except ApiError as error:
                low, code = NO_OFFSET, node.error("DeleteRecords", error.code)
            results.append(
                DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=low, error_code=code)
            )
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    return DeleteRecordsResponse(topics=topics)


def _delete(partition: Partition, offset: int) -> Steps[int]:
    policy = partition.settings.cleanup_policy
    if policy and "delete" not in policy:
        raise ApiError(ErrorCode.POLICY_VIOLATION)
    target = partition.high_watermark if offset == TO_HIGH_WATERMARK else offset
    if target < 0 or target > partition.high_watermark:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if target > partition.log.start_offset:
        yield from partition.log.delete_records(target)
        # Followers hear of it with what they are told next.
        partition.announce()
    return partition.log.start_offset


API = Api(DeleteRecordsRequest, range(3), handle)
