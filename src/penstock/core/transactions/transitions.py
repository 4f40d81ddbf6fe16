"""What the next record of a transactional id says. Pure functions: one of them is behind every change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.core.base.values import replaced
from penstock.core.transactions.metadata import (
    EPOCH_MAX,
    NO_EPOCH,
    NO_ID,
    NOT_STARTED,
    Producer,
    TopicPartition,
    TransactionMetadata,
)
from penstock.core.transactions.states import AT_REST, FOLLOWING, State

EPOCH_BUMPING_VERSION = 2
"""From this `transaction.version` on every end of a transaction bumps the producer's epoch (KIP-890)."""


def initialized(before: TransactionMetadata, producer: Producer, timeout_ms: int, now_ms: int) -> TransactionMetadata:
    """A producer has introduced itself, and gets an epoch or an id."""
    return _moved(
        before,
        State.EMPTY,
        now_ms,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        timeout_ms=timeout_ms,
        partitions=(),
        started_ms=NOT_STARTED,
    )


def taken_over(before: TransactionMetadata, heir: Producer, timeout_ms: int, now_ms: int) -> TransactionMetadata:
    """The transaction stays open as it is, for somebody else to end it."""
    return _moved(
        before,
        State.ONGOING,
        now_ms,
        next_producer_id=heir.id,
        next_producer_epoch=heir.epoch,
        timeout_ms=timeout_ms,
    )


def joined(
    before: TransactionMetadata, partitions: Iterable[TopicPartition], version: int, now_ms: int
) -> TransactionMetadata:
    """Partitions become part of the transaction, which begins if none is open."""
    return _moved(
        before,
        State.ONGOING,
        now_ms,
        partitions=tuple(dict.fromkeys([*before.partitions, *partitions])),
        started_ms=now_ms if before.state in AT_REST else before.started_ms,
        client_version=version,
    )


def prepared(
    before: TransactionMetadata, committed: bool, version: int, bump: int, fresh_id: int, now_ms: int
) -> TransactionMetadata:
    """How the transaction ends is decided. `bump` fences who has written until now: its partitions hear of the higher
    epoch with the marker. `fresh_id` goes on where the epochs of the old one are used up."""
    actor = before.actor
    heir = Producer(fresh_id, NO_EPOCH)
    if actor.id == before.producer_id:
        epoch = min(actor.epoch + bump, EPOCH_MAX)
    else:
        # It was taken over under another id: its partitions know only the one that wrote.
        epoch = min(before.producer_epoch + 1, EPOCH_MAX)
        if fresh_id == NO_ID:
            heir = Producer(actor.id, actor.epoch + bump)
    return _moved(
        before,
        State.PREPARE_COMMIT if committed else State.PREPARE_ABORT,
        now_ms,
        producer_epoch=epoch,
        next_producer_id=heir.id,
        next_producer_epoch=heir.epoch,
        started_ms=now_ms if before.state in AT_REST else before.started_ms,
        client_version=version,
    )


def completed(before: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """Every partition has heard of it."""
    successor = before.successor
    return _moved(
        before,
        State.COMPLETE_COMMIT if before.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT,
        now_ms,
        producer_id=successor.id,
        producer_epoch=successor.epoch,
        next_producer_id=NO_ID,
        next_producer_epoch=NO_EPOCH,
        partitions=(),
    )


def _moved(before: TransactionMetadata, state: State, now_ms: int, **changes: Any) -> TransactionMetadata:
    assert state in FOLLOWING[before.state], f"{before.state.name} is not followed by {state.name}"
    return replaced(before, state=state, updated_ms=now_ms, previous_producer_id=before.producer_id, **changes)
