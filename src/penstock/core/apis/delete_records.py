"""DeleteRecords (21). Versions 0 to 2: move a log's start; -1 means up to the high watermark.

The answer leaves when every replica that is alive has moved its start as well, or when the time for that is over.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.apis.lookup import find_partition
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_topics
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

TO_HIGH_WATERMARK: Final = -1
NO_OFFSET: Final = -1
LOOK_AGAIN_MS: Final = 20
"""Followers hear of a start with what they are told next, and say so with what they ask next."""


def handle(node: Node, request: DeleteRecordsRequest, slot: Slot) -> Answer:
    deletion = _Deletion(node, slot, node.now_ms + max(request.timeout_ms, 0))
    node.tasks.run(deletion.delete(request), deletion.deleted)
    return PENDING


class _Waiting(NamedTuple):
    """A partition whose followers may still have what was deleted."""

    partition: Partition
    offset: int
    result: DeleteRecordsPartitionResult


class _Deletion:
    """One request."""

    def __init__(self, node: Node, slot: Slot, deadline_ms: int) -> None:
        self._node = node
        self._slot = slot
        self._deadline_ms = deadline_ms
        self._response = DeleteRecordsResponse(topics=[])
        self._waiting: list[_Waiting] = []

    def delete(self, request: DeleteRecordsRequest) -> Steps[None]:
        for topic in request.topics:
            results: list[DeleteRecordsPartitionResult] = []
            self._response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
            for wanted in topic.partitions:
                result = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=NO_OFFSET)
                results.append(result)
                try:
                    partition = find_partition(self._node, topic.name, wanted.partition_index)
                    offset = yield from _delete(partition, wanted.offset)
                except ApiError as error:
                    result.error_code = self._node.error("DeleteRecords", error.code)
                    continue
                result.low_watermark = partition.low_watermark
                self._waiting.append(_Waiting(partition, offset, result))

    def deleted(self, outcome: Exception | None) -> None:
        """Here it is done; now the followers."""
        if outcome is not None:
            self._node.handler_failed(self._slot, outcome)
        else:
            self._look()

    def _look(self) -> None:
        self._waiting = [each for each in self._waiting if not self._is_over(each)]
        if self._waiting and self._node.now_ms < self._deadline_ms:
            self._node.deadlines.at(self._node.now_ms + LOOK_AGAIN_MS, self._look)
            return
        for each in self._waiting:
            each.result.error_code = self._node.error("DeleteRecords", ErrorCode.REQUEST_TIMED_OUT)
        self._slot.reply(self._response)

    def _is_over(self, waiting: _Waiting) -> bool:
        partition, offset, result = waiting
        if partition.removed:
            result.low_watermark = NO_OFFSET
            result.error_code = self._node.error("DeleteRecords", ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return True
        low = partition.low_watermark
        if low >= offset:
            result.low_watermark = low
        return low >= offset


def _delete(partition: Partition, offset: int) -> Steps[int]:
    """Move the start, if it is not there yet; gives where it has to be."""
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
    return target


API = Api(DeleteRecordsRequest, range(3), handle, on_topics(Operation.DELETE, "topics.name"))
