"""DescribeProducers (61). Version 0: who has written to a partition with a producer id."""

from __future__ import annotations

from penstock.core.apis.lookup import find_partition
from penstock.core.base.errors import ApiError
from penstock.core.metadata.topics import check_topic_name
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def handle(node: Node, request: DescribeProducersRequest, slot: Slot) -> Answer:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_describe(node, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _describe(node: Node, topic: str, index: int) -> PartitionResponse:
    try:
        check_topic_name(topic)
        producers = find_partition(node, topic, index).log.producers
    except ApiError as error:
        return PartitionResponse(
            partition_index=index,
            error_code=node.error("DescribeProducers", error.code),
            error_message=error.message,
        )
    return PartitionResponse(
        partition_index=index,
        error_code=0,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_timestamp,
                coordinator_epoch=each.coordinator_epoch,
                current_txn_start_offset=each.transaction_offset,
            )
            for producer_id, each in producers.items()
        ],
    )


API = Api(DescribeProducersRequest, range(1), handle, on_topics(Operation.READ, "topics.name"))
