"""OffsetForLeaderEpoch (23). Versions 2 to 4: where an epoch ended, so that a reader can tell whether it diverged."""

from __future__ import annotations

from penstock.core.apis.lookup import find_partition
from penstock.core.base.errors import ApiError
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.divergence import end_of_epoch
from penstock.core.wire.api.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle(node: Node, request: OffsetForLeaderEpochRequest, slot: Slot) -> Answer:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_end(node, topic.topic, wanted) for wanted in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _end(node: Node, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = find_partition(node, topic, wanted.partition, wanted.current_leader_epoch)
    except ApiError as error:
        return EpochEndOffset(error_code=node.error("OffsetForLeaderEpoch", error.code), partition=wanted.partition)
    epoch, end_offset = end_of_epoch(partition, wanted.leader_epoch)
    return EpochEndOffset(error_code=0, partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)


DESCRIBE = Touches(
    Operation.DESCRIBE, Resource.TOPIC, "topics.topic", unless=Touches(Operation.CLUSTER_ACTION, Resource.CLUSTER)
)
API = Api(OffsetForLeaderEpochRequest, range(2, 5), handle, (DESCRIBE,))
