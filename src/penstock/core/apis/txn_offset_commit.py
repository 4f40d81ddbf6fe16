"""TxnOffsetCommit (28). Versions 0 to 5: how far a group has read, as a part of a producer's transaction.

2 adds leader epochs, 3 says which member commits, 4 knows TRANSACTION_ABORTABLE, and 5 makes the group's offsets a part
of the transaction, which AddOffsetsToTxn did before (KIP-890). As for a batch that is produced, a coordinator has to
vouch for the transaction before the first of its offsets in a partition is written.
"""

from __future__ import annotations

from typing import Final

from penstock.core.apis.asking import ask
from penstock.core.apis.lookup import exists, find_partition
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.produce_transactions import verification
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.coordination.groups import OFFSETS_TOPIC
from penstock.core.node.coordination.host import REFUSED_AS
from penstock.core.node.membership.transaction_verifier import Transacting
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_groups, on_topics, on_transactional_ids
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.verification import Unsequenced, Verification
from penstock.core.wire import Message
from penstock.core.wire.api.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from penstock.core.wire.refusals import refusal

LOADING_FROM: Final = 2
"""Older producers may crash where a coordinator says that it is being loaded (KAFKA-7296)."""
ABORTABLE_FROM: Final = 4
ADDS_FROM: Final = 5

TOLD_AS: Final = {
    **REFUSED_AS,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}
"""Old producers do not expect NETWORK_EXCEPTION, and come again at once for this."""


def handle(node: Node, request: TxnOffsetCommitRequest, slot: Slot) -> Answer:
    if not any(exists(node, topic.name, each.partition_index) for topic in request.topics for each in topic.partitions):
        return _refused(node, request, slot, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        return _begin(node, request, slot)
    except ApiError as error:
        return _refused(node, request, slot, error.code)


def _begin(node: Node, request: TxnOffsetCommitRequest, slot: Slot) -> Answer:
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    groups = node.coordinators.groups
    index, adds = groups.kind.index_of(request.group_id, groups.count), slot.version >= ADDS_FROM
    partition = find_partition(node, OFFSETS_TOPIC, index)
    vouched = verification(node, partition, _writer(request), adds)
    if vouched.is_verified:
        return _commit(node, request, slot, index, vouched)

    def heard(code: ErrorCode) -> None:
        answer: Answer
        try:
            if code is not ErrorCode.NONE:
                raise ApiError(code)
            answer = _commit(node, request, slot, index, vouched)
        except ApiError as error:
            answer = _refused(node, request, slot, error.code)
        if isinstance(answer, Message):
            slot.reply(answer)

    if vouched.wait(heard):
        who = Transacting(request.transactional_id, request.producer_id, request.producer_epoch, adds)
        node.cluster.transaction_verifier.ask(who, OFFSETS_TOPIC, index, vouched.answered)
    return PENDING


def _commit(node: Node, request: TxnOffsetCommitRequest, slot: Slot, index: int, vouched: Verification) -> Answer:
    find_partition(node, OFFSETS_TOPIC, index).check_vouched(_writer(request), vouched)
    return ask(node, request, slot)


def _writer(request: TxnOffsetCommitRequest) -> Unsequenced:
    return Unsequenced(request.producer_id, request.producer_epoch)


def _refused(node: Node, request: TxnOffsetCommitRequest, slot: Slot, code: ErrorCode) -> TxnOffsetCommitResponse:
    """Nothing is taken: of what exists the code is told, and of the rest that it is unknown."""
    if code is ErrorCode.TRANSACTION_ABORTABLE and slot.version < ABORTABLE_FROM:
        code = ErrorCode.INVALID_TXN_STATE
    response = refuse(request, slot.version, TOLD_AS.get(code, code))
    for topic in response.topics:
        for each in topic.partitions:
            if not exists(node, topic.name, each.partition_index):
                each.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            node.error(slot.api.name, ErrorCode(each.error_code))
    return response


def refuse(
    request: TxnOffsetCommitRequest, version: int, code: ErrorCode, message: str | None = None
) -> TxnOffsetCommitResponse:
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < LOADING_FROM:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    response = refusal(request, version, code)
    assert isinstance(response, TxnOffsetCommitResponse)
    return response


API = Api(
    TxnOffsetCommitRequest,
    range(6),
    by_coordinator(handle),
    on_transactional_ids(Operation.WRITE, "transactional_id")
    + on_groups(Operation.READ, "group_id")
    + on_topics(Operation.READ, "topics.name"),
    refuse=refuse,
)
