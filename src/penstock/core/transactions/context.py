"""What the rules of the coordinator are given: what is known, what may be asked for, what has been decided so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import fresh, frozen, mutable
from penstock.core.rsm.result import Performer, Reply, Result, Timers
from penstock.core.transactions.markers import MarkersDue
from penstock.core.transactions.metadata import NO_ID, TransactionMetadata
from penstock.core.transactions.records import transaction_record, transaction_tombstone
from penstock.core.transactions.settings import TransactionSettings
from penstock.core.transactions.states import PREPARED, State
from penstock.core.transactions.table import TransactionTable
from penstock.core.transactions.transitions import EPOCH_BUMPING_VERSION, prepared
from penstock.core.wire import Message


class ProducerIdSource(Protocol):
    """Where new producer ids come from."""

    def has_stock(self) -> bool:
        """Whether one can be taken at once; if not, some are ordered."""
        ...

    def take_now(self) -> int | None:
        """One that nobody else ever gets; None where none is in stock, and then some are ordered."""
        ...


@frozen
class CoordinatorContext:
    """Given to a machine when it is made."""

    settings: TransactionSettings
    timers: Timers
    ids: ProducerIdSource
    markers: Performer
    """Tells the partitions of a transaction how it has ended."""
    transaction_version: Callable[[], int]
    """The level that the cluster has agreed on; it may go up and down."""
    coordinator_epoch: Callable[[], int]
    """By which partitions tell a coordinator from its successor."""


@mutable
class Turn:
    """One event being handled."""

    now_ms: int
    context: CoordinatorContext
    table: TransactionTable
    last_epochs: dict[str, int]
    """By id, the epoch whose owner was given the present one: who repeats that request gets the same answer. Not on
    record: after a failover it is fenced, as in Kafka."""
    result: Result = fresh(default_factory=lambda: Result(is_only_record=True))

    def answer(self, reply: Reply, message: Message) -> None:
        self.result.replies.append((reply, message))

    def write(self, metadata: TransactionMetadata) -> None:
        version = self.context.transaction_version()
        self.result.records.append(transaction_record(metadata, version))
        if metadata.state in PREPARED:
            self.tell(metadata)

    def forget(self, transactional_id: str) -> None:
        self.result.records.append(transaction_tombstone(transactional_id))
        self.last_epochs.pop(transactional_id, None)

    def tell(self, metadata: TransactionMetadata) -> None:
        """The partitions of a transaction are to hear of its end, once that is committed."""
        self.result.replies.append((self.context.markers, markers_of(metadata, self.context.coordinator_epoch())))

    def fresh_id(self) -> int:
        producer_id = self.context.ids.take_now()
        if producer_id is None:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "No producer id is in stock.")
        return producer_id

    def may_fence(self, before: TransactionMetadata) -> bool:
        """Whether it can be done now: one more id may be needed, and be on its way."""
        bumps = self.context.transaction_version() >= EPOCH_BUMPING_VERSION
        return not (bumps and before.actor.is_exhausted) or self.context.ids.has_stock()

    def end(self, before: TransactionMetadata, committed: bool, version: int) -> TransactionMetadata:
        """Decide how a transaction ends, as a client of this version asks."""
        bumps = version >= EPOCH_BUMPING_VERSION
        actor = before.actor
        fresh_id = self.fresh_id() if bumps and actor.is_exhausted else NO_ID
        after = prepared(before, committed, version if bumps else 0, int(bumps), fresh_id, self.now_ms)
        if bumps:
            self.last_epochs[before.transactional_id] = actor.epoch
        self.write(after)
        return after

    def fence(self, before: TransactionMetadata) -> None:
        """End a transaction over its producer's head: the next thing that it does is refused."""
        version = self.context.transaction_version()
        if version >= EPOCH_BUMPING_VERSION:
            self.end(before, False, version)
            return
        self.last_epochs.pop(before.transactional_id, None)
        self.write(prepared(before, False, 0, 1, NO_ID, self.now_ms))


def markers_of(metadata: TransactionMetadata, coordinator_epoch: int) -> MarkersDue:
    return MarkersDue(
        metadata.transactional_id,
        metadata.producer_id,
        metadata.producer_epoch,
        metadata.state is State.PREPARE_COMMIT,
        coordinator_epoch,
        metadata.client_version,
        metadata.partitions,
    )
