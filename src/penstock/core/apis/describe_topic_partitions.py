"""DescribeTopicPartitions (75). Version 0: partitions page by page, with eligible leader replicas."""

from __future__ import annotations

from penstock.core.apis.operations import TOPIC_OPERATIONS
from penstock.core.apis.reachable import Reachable
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import TopicImage
from penstock.core.metadata.topics import is_legal_name
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.partition.partition import INTERNAL_TOPICS
from penstock.core.wire.api.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)


def handle(node: Node, request: DescribeTopicPartitionsRequest, slot: Slot) -> Answer:
    cursor = request.cursor
    names = sorted({topic.name for topic in request.topics}) or sorted(node.image.topics)
    if cursor is not None:
        if cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names):
            return _refused(node, [topic.name for topic in request.topics])
        names = [name for name in names if name >= cursor.topic_name]
    left = max(min(request.response_partition_limit, node.settings["max.request.partition.size.limit"]), 1)
    response = DescribeTopicPartitionsResponse(topics=[])
    reachable = Reachable(node.image, slot.connection.listener)
    for name in names:
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left <= 0:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=0)
            break
        topic = node.image.topic(name)
        if topic is None:
            response.topics.append(_unknown(node, name))
            continue
        last = max(first, min(first + left, len(topic)))
        response.topics.append(_described(topic, range(first, last), reachable))
        left -= last - first
        if last < len(topic):
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=last)
            break
    return response


def _unknown(node: Node, name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error_code=node.error("DescribeTopicPartitions", code), name=name, topic_authorized_operations=TOPIC_OPERATIONS
    )


def _refused(node: Node, names: list[str]) -> DescribeTopicPartitionsResponse:
    """The cursor points to nowhere."""
    code = node.error("DescribeTopicPartitions", ErrorCode.INVALID_REQUEST)
    topics = [DescribeTopicPartitionsResponseTopic(error_code=code, name=name) for name in names]
    return DescribeTopicPartitionsResponse(topics=topics)


def _described(topic: TopicImage, indexes: range, reachable: Reachable) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=0,
                partition_index=index,
                leader_id=reachable.leader(topic.leaders[index]),
                leader_epoch=topic.leader_epochs[index],
                replica_nodes=list(topic.replicas[index]),
                isr_nodes=list(topic.isrs[index]),
                eligible_leader_replicas=list(topic.standings[index].elr),
                last_known_elr=list(topic.standings[index].last_known_elr),
                offline_replicas=reachable.offline(topic, index),
            )
            for index in indexes
        ],
    )


API = Api(DescribeTopicPartitionsRequest, range(1), handle)
