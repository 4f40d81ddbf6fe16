"""AddPartitionsToTxn (24). Versions 0 to 5: what belongs to a transaction.

Up to version 3 clients ask, for one transaction; 2 knows PRODUCER_FENCED. From 4 on brokers ask, for many, and may ask
whether something belongs to one without adding it; 5 knows TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from penstock.core.apis.asking_transactions import decide
from penstock.core.apis.gathering import Gathering, Part
from penstock.core.apis.lookup import exists
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.rights import may
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import CLUSTER_ACTION, Operation, Resource, on_topics, on_transactional_ids
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Answerable, Slot
from penstock.core.transactions.adding import BROKERS_VERSION, FENCING_VERSION, add, client_version, verify
from penstock.core.transactions.asked import told
from penstock.core.transactions.context import Turn
from penstock.core.transactions.metadata import Producer, TopicPartition
from penstock.core.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from penstock.core.wire.refusals import overwritten
from penstock.core.wire.schema import Response

Codes = Mapping[TopicPartition, ErrorCode]


def handle(node: Node, request: AddPartitionsToTxnRequest, slot: Slot) -> Answer:
    transactions = request.transactions if slot.version >= BROKERS_VERSION else [_only(request)]
    if not transactions:
        return AddPartitionsToTxnResponse()
    gathering = Gathering(
        slot, len(transactions), lambda parts: _merged(cast("list[AddPartitionsToTxnResponse]", parts), slot.version)
    )
    for number, transaction in enumerate(transactions):
        _ask(node, slot, transaction, Part(gathering, number))
    return PENDING


def _only(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    """What a client asks, in the shape of what brokers ask."""
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


def _ask(node: Node, slot: Slot, asked: AddPartitionsToTxnTransaction, reply: Answerable) -> None:
    partitions = [(topic.name, index) for topic in asked.topics for index in topic.partitions]
    unknown = _unknown(node, slot, partitions)
    producer = Producer(asked.producer_id, asked.producer_epoch)

    def rule(turn: Turn) -> None:
        if asked.verify_only:
            codes = verify(turn, asked.transactional_id, producer, partitions)
        else:
            code = add(turn, asked.transactional_id, producer, partitions, client_version(slot.version))
            codes = [told(code, slot.version, FENCING_VERSION)] * len(partitions)
        turn.answer(reply, _told(asked, dict(zip(partitions, codes, strict=True))))

    if unknown:
        reply.reply(_told(asked, unknown))
        return
    try:
        decide(node, asked.transactional_id, rule)
    except ApiError as error:
        node.error(slot.api.name, error.code)
        reply.reply(_told(asked, dict.fromkeys(partitions, error.code)))


def _unknown(node: Node, slot: Slot, partitions: Sequence[TopicPartition]) -> Codes:
    """What to say where not all partitions exist, or a client may not write to all of them: nothing is added then."""
    codes = {each: _problem(node, slot, each) for each in partitions}
    return codes if any(code is not ErrorCode.OPERATION_NOT_ATTEMPTED for code in codes.values()) else {}


def _problem(node: Node, slot: Slot, partition: TopicPartition) -> ErrorCode:
    if slot.version < BROKERS_VERSION and not may(node, slot, Operation.WRITE, Resource.TOPIC, partition[0]):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    known = exists(node, *partition)
    return ErrorCode.OPERATION_NOT_ATTEMPTED if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def authorize(question: Question) -> Response | None:
    """Of a client; about the topics the handler asks, since one that is refused spoils all others."""
    if question.version >= BROKERS_VERSION:
        allowed = question.may(Operation.CLUSTER_ACTION, Resource.CLUSTER)
        return None if allowed else question.refuse(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    name = question.request.v3_and_below_transactional_id
    allowed = question.may(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)
    return None if allowed else question.refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _told(asked: AddPartitionsToTxnTransaction, codes: Codes) -> AddPartitionsToTxnResponse:
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, index), code in codes.items():
        result = AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
        topics.setdefault(topic, []).append(result)
    results = [AddPartitionsToTxnTopicResult(name=name, results_by_partition=found) for name, found in topics.items()]
    told_of = AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=results)
    return AddPartitionsToTxnResponse(results_by_transaction=[told_of])


def refuse(
    request: AddPartitionsToTxnRequest, version: int, code: ErrorCode, message: str | None = None
) -> AddPartitionsToTxnResponse:
    """All of a request is refused: clients hear of it at each partition, brokers once."""
    if version >= BROKERS_VERSION:
        return AddPartitionsToTxnResponse(error_code=code)
    asked = _only(request)
    codes = dict.fromkeys(((topic.name, index) for topic in asked.topics for index in topic.partitions), code)
    return _merged([_told(asked, codes)], version)


def _merged(parts: list[AddPartitionsToTxnResponse], version: int) -> AddPartitionsToTxnResponse:
    for part in parts:
        if part.error_code:
            # What one machine has decided could not be written; the others' answers stand.
            overwritten(part.results_by_transaction[0], ErrorCode(part.error_code))
    results = [result for part in parts for result in part.results_by_transaction]
    if version >= BROKERS_VERSION:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


API = Api(
    AddPartitionsToTxnRequest,
    range(6),
    by_coordinator(handle),
    on_transactional_ids(Operation.WRITE, "v3_and_below_transactional_id")
    + on_topics(Operation.WRITE, "v3_and_below_topics.name")
    + CLUSTER_ACTION,
    refuse=refuse,
    authorize=authorize,
)
