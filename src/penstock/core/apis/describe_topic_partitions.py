"""DescribeTopicPartitions (75). Version 0: partitions page by page, with eligible leader replicas."""

from __future__ import annotations

from penstock.core.apis.reachable import Reachable
from penstock.core.apis.rights import may, operations
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import TopicImage
from penstock.core.metadata.topics import is_legal_name
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.authorizing import by_handler
from penstock.core.node.serving.gates import ALLOW_ALL
from penstock.core.node.serving.slots import Slot
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
    names, refused = _allowed(node, slot, names, is_told=bool(request.topics))
    left = max(min(request.response_partition_limit, node.settings["max.request.partition.size.limit"]), 1)
    response = DescribeTopicPartitionsResponse(topics=[])
    reachable = Reachable(node.image, slot.context.listener)
    for name in names:
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left <= 0:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=0)
            break
        topic = node.image.topic(name)
        if topic is None:
            response.topics.append(_unknown(node, slot, name))
            continue
        last = max(first, min(first + left, len(topic)))
        described = _described(topic, range(first, last), reachable)
        described.topic_authorized_operations = operations(node, slot, Resource.TOPIC, name)
        response.topics.append(described)
        left -= last - first
        if last < len(topic):
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=last)
            break
    response.topics += refused
    return response


def _allowed(
    node: Node, slot: Slot, names: list[str], *, is_told: bool
) -> tuple[list[str], list[DescribeTopicPartitionsResponseTopic]]:
    """What may be looked at, and what is said of the rest to whoever named it: no word on whether it exists."""
    if node.gates.authorizer is ALLOW_ALL:
        return names, []
    allowed = [name for name in names if may(node, slot, Operation.DESCRIBE, Resource.TOPIC, name)]
    if not is_told:
        return allowed, []
    others = sorted(set(names).difference(allowed))
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    node.metrics.errors["DescribeTopicPartitions", code.name] += len(others)
    return allowed, [DescribeTopicPartitionsResponseTopic(error_code=code, name=name) for name in others]


def _unknown(node: Node, slot: Slot, name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error_code=node.error("DescribeTopicPartitions", code),
        name=name,
        topic_authorized_operations=operations(node, slot, Resource.TOPIC, name),
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


TOUCHES = on_topics(Operation.DESCRIBE, "topics.name")
API = Api(DescribeTopicPartitionsRequest, range(1), handle, TOUCHES, authorize=by_handler)
