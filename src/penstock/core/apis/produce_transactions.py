"""Transactions in produce requests: who may be asked for, what a batch has to wait for, and what producers are told.

From version 11 on a producer knows TRANSACTION_ABORTABLE; with 12 its batches add their partition to the transaction,
which it said in a request of its own before (KIP-890).
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.membership.transaction_verifier import Transacting
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition
from penstock.core.partition.verification import UNCHECKED, Begins, Verification
from penstock.core.records.batch import ATTRIBUTES_AT, HEADER_BYTES, TRANSACTIONAL_BIT, BatchHeader, read_header
from penstock.core.wire.api.produce import ProduceRequest

ABORTABLE_FROM: Final = 11
ADDS_FROM: Final = 12

_LOW_BYTE: Final = ATTRIBUTES_AT + 1

NOT_YET: Final = frozenset(
    (
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    )
)
"""Producers do not expect these of a partition. NOT_ENOUGH_REPLICAS lets them come again without asking who leads."""


def is_transactional(records: memoryview) -> bool:
    return len(records) >= HEADER_BYTES and records[_LOW_BYTE] & TRANSACTIONAL_BIT != 0


def check_transaction(request: ProduceRequest) -> None:
    """Raise what the whole request is refused with: its batches are of one transaction at most, and it says of which
    transactional id."""
    producers = {
        (header.producer_id, header.producer_epoch)
        for topic in request.topic_data
        for data in topic.partition_data
        if isinstance(data.records, memoryview) and is_transactional(data.records)
        for header in (read_header(data.records),)
        if header.producer_id >= 0
    }
    if producers and request.transactional_id is None:
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transaction has a transactional id")
    if len(producers) > 1:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "a transaction has one producer")


def verification(node: Node, partition: Partition, header: Begins, adds: bool) -> Verification:
    """What a transactional batch waits for, if that is not over; raises the error its producer gets. `adds`: whether it
    brings its partition into the transaction."""
    if not adds and not node.settings["transaction.partition.verification.enable"]:
        return UNCHECKED
    return partition.verification(header, adds, node.now_ms)


def transacting(request: ProduceRequest, version: int, header: BatchHeader) -> Transacting:
    """What the coordinator is asked about."""
    assert request.transactional_id is not None, "asked only for transactions"
    return Transacting(request.transactional_id, header.producer_id, header.producer_epoch, adds=version >= ADDS_FROM)


def not_vouched(code: ErrorCode, version: int) -> ApiError:
    """What a producer is told where nobody vouches for its transaction."""
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_FROM:
        code = ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.INVALID_TXN_STATE:
        return ApiError(code, "the partition was not added to the transaction")
    if code in NOT_YET or (code is ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_FROM):
        return ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, f"nobody vouches for the transaction yet: {code.name}")
    return ApiError(code)
