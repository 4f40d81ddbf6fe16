"""AddPartitionsToTxn: what belongs to a transaction, and whether something does (verification, KIP-890)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.transactions.context import Turn
from penstock.core.transactions.metadata import Producer, TopicPartition
from penstock.core.transactions.states import PREPARED, State
from penstock.core.transactions.transitions import EPOCH_BUMPING_VERSION, joined

FENCING_VERSION: Final = 2
"""The first version of AddPartitionsToTxn and AddOffsetsToTxn whose clients know PRODUCER_FENCED."""
BROKERS_VERSION: Final = 4
"""From this one on AddPartitionsToTxn comes from brokers, for clients of `transaction.version` 2."""


def client_version(api_version: int) -> int:
    return EPOCH_BUMPING_VERSION if api_version >= BROKERS_VERSION else 0


def add(
    turn: Turn, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], version: int
) -> ErrorCode:
    """Make partitions a part of the transaction, all or none."""
    if transactional_id in turn.table.prepared:
        # The id itself may be about to change: nobody is called a stranger before it has.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    code = _refusal(turn, transactional_id, producer)
    if code is not ErrorCode.NONE:
        return code
    known = turn.table[transactional_id]
    if known.is_taken_over:
        # What was prepared is to be ended as it is.
        return ErrorCode.INVALID_TXN_STATE
    if known.state is not State.ONGOING or not set(partitions) <= set(known.partitions):
        turn.write(joined(known, partitions, version, turn.now_ms))
    return ErrorCode.NONE


def verify(
    turn: Turn, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]
) -> list[ErrorCode]:
    """For each partition, whether it is part of an open transaction of this producer."""
    code = _refusal(turn, transactional_id, producer)
    if code is not ErrorCode.NONE:
        return [code] * len(partitions)
    known = frozenset(turn.table[transactional_id].partitions)
    return [ErrorCode.NONE if each in known else ErrorCode.TRANSACTION_ABORTABLE for each in partitions]


def _refusal(turn: Turn, transactional_id: str, producer: Producer) -> ErrorCode:
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    known = turn.table.get(transactional_id)
    if known is None or known.actor.id != producer.id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.actor.epoch != producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if known.state in PREPARED else ErrorCode.NONE
