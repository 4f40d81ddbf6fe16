"""InitProducerId: who writes under a transactional id from now on. Whoever did so before is fenced."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.transactions.asked import Asked, told
from penstock.core.transactions.context import Turn
from penstock.core.transactions.metadata import NO_EPOCH, NO_ID, NO_TIMEOUT_MS, Producer, TransactionMetadata
from penstock.core.transactions.settings import TransactionSettings
from penstock.core.transactions.states import PREPARED, State
from penstock.core.transactions.transitions import initialized, taken_over
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

FENCING_VERSION: Final = 4
"""The first version whose clients know PRODUCER_FENCED."""


def problem(request: InitProducerIdRequest, settings: TransactionSettings) -> ErrorCode:
    """What is wrong with a request whatever is known of its id, in the order in which Kafka looks."""
    if (request.producer_id == NO_ID) != (request.producer_epoch == NO_EPOCH) or request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.enable2_pc and not settings.two_phase:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not request.enable2_pc and not 0 < request.transaction_timeout_ms <= settings.timeout_ms_max:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def refused(code: ErrorCode, version: int) -> InitProducerIdResponse:
    code = told(code, version, FENCING_VERSION)
    return InitProducerIdResponse(error_code=code, producer_id=NO_ID, producer_epoch=NO_EPOCH)


def initialize(turn: Turn, asked: Asked[InitProducerIdRequest]) -> None:
    try:
        response = _initialize(turn, asked.request)
    except ApiError as error:
        response = refused(error.code, asked.version)
    turn.answer(asked.reply, response)


def _initialize(turn: Turn, request: InitProducerIdRequest) -> InitProducerIdResponse:
    assert request.transactional_id is not None
    name = request.transactional_id
    known = turn.table.get(name) or TransactionMetadata(name, turn.fresh_id())
    expected = None if request.producer_id == NO_ID else Producer(request.producer_id, request.producer_epoch)
    if known.state in PREPARED:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if expected is not None and not _may_be(known, expected):
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    timeout_ms = NO_TIMEOUT_MS if request.enable2_pc else request.transaction_timeout_ms
    if known.state is not State.ONGOING:
        return _given(_begin(turn, known, expected, timeout_ms))
    if request.keep_prepared_txn:
        return _take_over(turn, known, expected, timeout_ms)
    # The producer is told to ask again: by then the transaction has ended, and it gets an epoch of its own.
    turn.fence(known)
    raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)


def _may_be(known: TransactionMetadata, expected: Producer) -> bool:
    """Whether the producer that says who it was may go on: the present one, or one whose epochs were used up, and that
    has not heard of its new id. Its epoch is looked at when a new one is chosen."""
    was_exhausted = expected.id == known.previous_producer_id and expected.is_exhausted
    return known.producer_epoch == NO_EPOCH or expected.id in (known.producer_id, known.actor.id) or was_exhausted


def _begin(turn: Turn, known: TransactionMetadata, expected: Producer | None, timeout_ms: int) -> TransactionMetadata:
    producer = _next(turn, known.transactional_id, known.producer, expected)
    after = initialized(known, producer, timeout_ms, turn.now_ms)
    turn.write(after)
    return after


def _next(turn: Turn, name: str, current: Producer, expected: Producer | None) -> Producer:
    """Under which id and epoch somebody goes on. Whoever says who it was gets the same answer when it asks again."""
    is_current = expected is None or expected.epoch == current.epoch
    if current.is_exhausted and is_current:
        producer = Producer(turn.fresh_id(), 0)
    elif is_current or current.epoch == NO_EPOCH:
        producer = Producer(current.id, current.epoch + 1)
    elif expected is not None and expected.epoch == turn.last_epochs.get(name):
        return current
    else:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    if expected is None:
        turn.last_epochs.pop(name, None)
    else:
        turn.last_epochs[name] = current.epoch
    return producer


def _take_over(
    turn: Turn, known: TransactionMetadata, expected: Producer | None, timeout_ms: int
) -> InitProducerIdResponse:
    """Somebody comes back to end what it had prepared (KIP-939): the transaction stays as it is, and who it was is told
    with it; only who asks now may end it."""
    heir = _next(turn, known.transactional_id, known.actor, expected)
    turn.write(taken_over(known, heir, timeout_ms, turn.now_ms))
    return InitProducerIdResponse(
        producer_id=heir.id,
        producer_epoch=heir.epoch,
        ongoing_txn_producer_id=known.producer_id,
        ongoing_txn_producer_epoch=known.producer_epoch,
    )


def _given(after: TransactionMetadata) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=after.producer_id, producer_epoch=after.producer_epoch)
