"""EndTxn: commit or abort, and what it means in each state. Two protocols, by the version of the request.

In the first one a producer keeps its epoch, so a repeated request looks like the first. In the second (KIP-890) each
end bumps the epoch: who asks with the epoch before the present one repeats itself, and is told the new one again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.transactions.asked import Asked, told
from penstock.core.transactions.context import Turn
from penstock.core.transactions.metadata import EPOCH_MAX, NO_EPOCH, NO_ID, Producer, TransactionMetadata
from penstock.core.transactions.states import AT_REST, PREPARED, State
from penstock.core.transactions.transitions import EPOCH_BUMPING_VERSION
from penstock.core.wire.api.end_txn import EndTxnRequest, EndTxnResponse

FENCING_VERSION: Final = 2
BUMPING_VERSION: Final = 5
"""The first version of EndTxn that answers with the next epoch."""

DECIDE: Final = None
"""What an outcome is where it is decided now how the transaction ends."""
_DONE, _WAIT, _WRONG = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE

Outcomes = Mapping[State, tuple[ErrorCode | None, ErrorCode | None]]
"""By state: (abort, commit)."""

KEEPING: Final[Outcomes] = {
    State.EMPTY: (_WRONG, _WRONG),
    State.ONGOING: (DECIDE, DECIDE),
    State.PREPARE_COMMIT: (_WAIT, _WAIT),
    State.PREPARE_ABORT: (_WAIT, _WAIT),
    State.COMPLETE_COMMIT: (_WRONG, _DONE),
    State.COMPLETE_ABORT: (_DONE, _WRONG),
}
"""The first protocol."""
BUMPING: Final[Outcomes] = {
    State.EMPTY: (DECIDE, _WRONG),
    State.ONGOING: (DECIDE, DECIDE),
    State.COMPLETE_COMMIT: (DECIDE, _WRONG),
    State.COMPLETE_ABORT: (DECIDE, _WRONG),
}
"""The second one, asked with the present epoch. An abort of nothing is carried out: it settles what the client does not
know."""
REPEATED: Final[Outcomes] = {
    State.COMPLETE_COMMIT: (_WRONG, _DONE),
    State.COMPLETE_ABORT: (_DONE, _WRONG),
}
"""The second one, asked with the epoch before."""


def end(turn: Turn, asked: Asked[EndTxnRequest]) -> None:
    try:
        successor = _end(turn, asked.request, asked.version >= BUMPING_VERSION)
        response = EndTxnResponse(producer_id=successor.id, producer_epoch=successor.epoch)
    except ApiError as error:
        response = EndTxnResponse(error_code=told(error.code, asked.version, FENCING_VERSION))
    turn.answer(asked.reply, response)


def _end(turn: Turn, request: EndTxnRequest, bumps: bool) -> Producer:
    if not request.transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    known = turn.table.get(request.transactional_id)
    if known is None:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    asker = Producer(request.producer_id, request.producer_epoch)
    outcomes = _bumping_outcomes(known, asker) if bumps else _keeping_outcomes(known, asker)
    outcome = outcomes[known.state][request.committed]
    if outcome is DECIDE:
        known = turn.end(known, request.committed, EPOCH_BUMPING_VERSION if bumps else 0)
    elif outcome is not ErrorCode.NONE:
        raise ApiError(outcome)
    return known.successor if bumps else Producer(NO_ID, NO_EPOCH)


def _keeping_outcomes(known: TransactionMetadata, asker: Producer) -> Outcomes:
    if asker.id != known.actor.id:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if asker.epoch != known.actor.epoch:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    return KEEPING


def _bumping_outcomes(known: TransactionMetadata, asker: Producer) -> Outcomes:
    if known.state in PREPARED:
        # The id itself may be about to change: nobody is called a stranger before it has.
        raise ApiError(_WAIT)
    is_repeated = _is_repeated(known, asker)
    if asker.id != known.actor.id and not is_repeated:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if is_repeated and known.state in REPEATED:
        return REPEATED
    if asker.epoch != known.actor.epoch:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    return BUMPING


def _is_repeated(known: TransactionMetadata, asker: Producer) -> bool:
    """Whether the epoch was bumped, or the id replaced, at this producer's request."""
    bumped = Producer(asker.id, asker.epoch + 1)
    was_replaced = known.previous_producer_id == asker.id and asker.epoch == EPOCH_MAX - 1 and known.producer_epoch == 0
    return bumped == known.producer or (was_replaced and known.state in AT_REST)
