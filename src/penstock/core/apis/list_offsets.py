"""ListOffsets (2). Negative timestamps are questions: -1 latest, -2 earliest, -3 the largest timestamp (7),
-4 earliest on this disk (8), -5 latest in a tier (9), -6 earliest not yet in a tier (11).
"""

from __future__ import annotations

from collections import Counter

from penstock.core.apis.lookup import find_partition
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import REPLICA, Reader, reader_of
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
UNKNOWN = -1
CONSUMER, DEBUGGER = -1, -2
"""Who asks, where it is no replica; a debugger asks any replica."""
LEADER_EPOCH_SINCE = 4
NOT_AVAILABLE_SINCE = 5

_SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}

Found = tuple[int, int, int]
"""(timestamp, offset, leader epoch)"""


def handle(node: Node, request: ListOffsetsRequest, slot: Slot) -> Answer:
    return _answer(node, request, slot.version)


def _answer(node: Node, request: ListOffsetsRequest, version: int) -> Steps[ListOffsetsResponse]:
    topics: dict[str, list[ListOffsetsPartitionResponse]] = {}
    times = Counter((topic.name, wanted.partition_index) for topic in request.topics for wanted in topic.partitions)
    for topic in request.topics:
        for wanted in topic.partitions:
            asked = times.pop((topic.name, wanted.partition_index), 0)
            if not asked:
                continue
            try:
                if asked > 1:
                    raise ApiError(ErrorCode.INVALID_REQUEST)
                found = yield from _find(node, request, topic.name, wanted, version)
                code = 0
            except ApiError as error:
                found, code = (UNKNOWN, UNKNOWN, UNKNOWN), node.error("ListOffsets", _code(error, version))
            described = _described(wanted.partition_index, code, found, version)
            topics.setdefault(topic.name, []).append(described)
    return ListOffsetsResponse(
        topics=[ListOffsetsTopicResponse(name=name, partitions=partitions) for name, partitions in topics.items()]
    )


def _find(
    node: Node, request: ListOffsetsRequest, topic: str, wanted: ListOffsetsPartition, version: int
) -> Steps[Found]:
    if version < _SINCE.get(wanted.timestamp, 0) or wanted.timestamp < EARLIEST_PENDING_UPLOAD:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    partition = find_partition(
        node, topic, wanted.partition_index, wanted.current_leader_epoch, request.replica_id == DEBUGGER
    )
    reader = reader_of(request.isolation_level) if request.replica_id == CONSUMER else REPLICA
    found: Found = yield from _look(partition, wanted.timestamp, reader)
    return found


def _code(error: ApiError, version: int) -> ErrorCode:
    """Older clients do not know that offsets may not be available yet."""
    is_early = error.code is ErrorCode.OFFSET_NOT_AVAILABLE and version < NOT_AVAILABLE_SINCE
    return ErrorCode.LEADER_NOT_AVAILABLE if is_early else error.code


def _described(index: int, code: int, found: Found, version: int) -> ListOffsetsPartitionResponse:
    timestamp, offset, epoch = found
    return ListOffsetsPartitionResponse(
        partition_index=index,
        error_code=code,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch if version >= LEADER_EPOCH_SINCE else UNKNOWN,
    )


def _look(partition: Partition, when: int, reader: Reader) -> Steps[Found]:
    log, limit = partition.log, partition.visible_end(reader)
    if when == LATEST:
        _check_settled(partition, reader)
        return UNKNOWN, limit, partition.leader_epoch
    if when in (EARLIEST, EARLIEST_LOCAL):
        is_empty = log.start_offset == log.end_offset
        return UNKNOWN, log.start_offset, partition.leader_epoch if is_empty else log.epoch_at(log.start_offset)
    if when in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return UNKNOWN, UNKNOWN, UNKNOWN
    found: Found | None = yield from (log.max_timestamp() if when == MAX_TIMESTAMP else log.offset_for_time(when))
    if found is not None and found[1] < limit:
        return found
    _check_settled(partition, reader)
    return UNKNOWN, UNKNOWN, UNKNOWN


def _check_settled(partition: Partition, reader: Reader) -> None:
    if reader is not REPLICA:
        partition.check_settled()


API = Api(ListOffsetsRequest, range(1, 12), handle, on_topics(Operation.DESCRIBE, "topics.name"))
