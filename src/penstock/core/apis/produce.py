"""Produce (0). Versions 3 to 12 name topics, 13 uses ids; from 10 an error says who leads now.

One batch per partition; what acks=0 asked is not answered, and its failure closes the connection, since that is the
only way to make such a producer look again.
"""

from __future__ import annotations

from penstock.core.apis.pending_produce import NO_OFFSET, PendingProduce
from penstock.core.apis.produce_straight import serve
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.leader_hints import PRODUCE_HINTS_SINCE, hint_producer
from penstock.core.node.node import Node
from penstock.core.node.slots import NO_REPLY, Answer, Api, Slot
from penstock.core.partition.partition import ACKS_ALL, Partition
from penstock.core.records.errors import RecordError
from penstock.core.wire.api.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

# Of these a producer wants to know whether what it lacks was deleted, so the answer says where the log starts.
_LOOKED_AT = (
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.UNKNOWN_PRODUCER_ID,
)


def handle(node: Node, request: ProduceRequest, slot: Slot) -> Answer:
    response = ProduceResponse(responses=[])
    pending: PendingProduce | None = None
    failed = False
    for topic in request.topic_data:
        name = _topic_name(node, topic, slot.version)
        results: list[PartitionProduceResponse] = []
        response.responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=results)
        )
        for data in topic.partition_data:
            try:
                partition, next_offset, result = _append(node, name, data, request, slot)
            except ApiError as error:
                failed = True
                results.append(_failure(node, name, data.index, error))
                continue
            results.append(result)
            if partition.high_watermark < next_offset and request.acks != 0:
                if pending is None:
                    pending = PendingProduce(slot, response)
                pending.add(partition, next_offset, result, request.acks)
    if request.acks == 0:
        if failed:
            slot.connection.close()
        return NO_REPLY
    if failed and slot.version >= PRODUCE_HINTS_SINCE:
        hint_producer(node.image, slot.connection.listener, response)
    return response if pending is None else pending.start(node, request.timeout_ms)


def _topic_name(node: Node, topic: TopicProduceData, version: int) -> str | None:
    """None: there is no topic with this id."""
    return topic.name if version < 13 else node.image.names.get(topic.topic_id)


def _append(
    node: Node, name: str | None, data: PartitionProduceData, request: ProduceRequest, slot: Slot
) -> tuple[Partition, int, PartitionProduceResponse]:
    if request.acks not in (-1, 0, 1):
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS)
    if name is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = node.replicas.get(name, data.index)
    if partition is None:
        raise ApiError(node.replicas.refusal(node.image, name, data.index))
    if partition.internal:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name} is written by the broker alone")
    if partition.acks_all_only and request.acks != ACKS_ALL:
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, f"{name} takes acks=all only (penstock.acks.required)")
    if node.disk_full:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is almost full; delete topics or records, or add space")
    records = data.records
    assert isinstance(records, memoryview) or records is None
    if records is None:
        records = memoryview(b"")
    appended = partition.append(records, slot.version, node.now_ms, request.acks)
    result = PartitionProduceResponse(
        index=data.index,
        error_code=0,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.append_time_ms,
        log_start_offset=partition.log.start_offset,
    )
    return partition, appended.next_offset, result


def _failure(node: Node, name: str | None, index: int, error: ApiError) -> PartitionProduceResponse:
    errors = error.record_errors if isinstance(error, RecordError) else ()
    partition = node.replicas.get(name, index) if name is not None and error.code in _LOOKED_AT else None
    return PartitionProduceResponse(
        index=index,
        error_code=node.error("Produce", error.code),
        base_offset=NO_OFFSET,
        log_start_offset=NO_OFFSET if partition is None else partition.log.start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=text) for at, text in errors
        ],
        error_message=error.message,
    )


API = Api(ProduceRequest, range(3, 14), handle, serve)
