"""Produce (0). Versions 3 to 12 name topics, 13 uses ids; from 10 an error says who leads now.

One batch per partition; what acks=0 asked is not answered, and its failure closes the connection, since that is the
only way to make such a producer look again.
"""

from __future__ import annotations

from penstock.core.apis.pending_produce import NO_OFFSET, PendingProduce
from penstock.core.apis.produce_admission import ACKS, forbidden, refusal
from penstock.core.apis.produce_fast_path import serve
from penstock.core.apis.produce_transactions import check_transaction
from penstock.core.apis.produced_batch import ProducedBatch, fail
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_topics, on_transactional_ids
from penstock.core.node.serving.api import NO_REPLY, Answer, Api
from penstock.core.node.serving.authorizing import by_handler
from penstock.core.node.serving.context import RequestContext
from penstock.core.node.serving.leader_hints import PRODUCE_HINTS_SINCE, hint_producer
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)


def handle(node: Node, request: ProduceRequest, slot: Slot) -> Answer:
    try:
        check_transaction(request)
    except ApiError as error:
        return _refuse(node, request, slot, error)
    response = ProduceResponse(responses=[])
    pending = PendingProduce(slot, response)
    failed = False
    for topic in request.topic_data:
        name = _topic_name(node, topic, slot.version)
        results: list[PartitionProduceResponse] = []
        response.responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=results)
        )
        for data in topic.partition_data:
            result = PartitionProduceResponse(index=data.index, error_code=0, base_offset=NO_OFFSET)
            results.append(result)
            try:
                _produce(node, name, data, request, slot, pending, result)
            except ApiError as error:
                failed = True
                fail(node, name, result, error)
    if request.acks == 0:
        if failed:
            slot.connection.close()
        return NO_REPLY
    if failed and slot.version >= PRODUCE_HINTS_SINCE:
        hint_producer(node.image, slot.context.listener, response)
    return pending.start(node, request.timeout_ms)


def _topic_name(node: Node, topic: TopicProduceData, version: int) -> str | None:
    """None: there is no topic with this id."""
    return topic.name if version < 13 else node.image.names.get(topic.topic_id)


def _refuse(node: Node, request: ProduceRequest, slot: Slot, error: ApiError) -> Answer:
    """Nothing of the request is looked at any further."""
    code = ErrorCode(node.error("Produce", error.code))
    if request.acks == 0:
        slot.connection.close()
        return NO_REPLY
    return slot.api.refuse(request, slot.version, code, error.message)


def _produce(
    node: Node,
    name: str | None,
    data: PartitionProduceData,
    request: ProduceRequest,
    slot: Slot,
    pending: PendingProduce,
    result: PartitionProduceResponse,
) -> None:
    """Append the batch for one partition, or put it where it waits."""
    partition, records = _find(node, name, data.index, request, slot.context), data.records
    assert isinstance(records, memoryview) or records is None
    batch = ProducedBatch(node, partition, request, slot, pending, result)
    batch.take(memoryview(b"") if records is None else records)


def _find(node: Node, name: str | None, index: int, request: ProduceRequest, context: RequestContext) -> Partition:
    if request.acks not in ACKS:
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS)
    if name is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
    if (code := forbidden(node, context, name, request.transactional_id)) is not None:
        raise ApiError(code)
    partition = node.replicas.get(name, index)
    if partition is None:
        raise ApiError(node.replicas.refusal(node.image, name, index))
    if (refused := refusal(node, context, partition, request.acks, request.transactional_id)) is not None:
        raise refused
    return partition


API = Api(
    ProduceRequest,
    range(3, 14),
    handle,
    on_topics(Operation.WRITE, "topic_data.name", "topic_data.topic_id")
    + on_transactional_ids(Operation.WRITE, "transactional_id"),
    fast_path=serve,
    authorize=by_handler,
)
