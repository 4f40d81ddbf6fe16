"""What is known of a transactional id: who writes under it, in which epoch, and what belongs to its transaction."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.values import frozen
from penstock.core.transactions.states import State

NO_ID: Final = -1
NO_EPOCH: Final = -1
EPOCH_MAX: Final = 2**15 - 1
"""No producer is ever given it, so that there is always one more to fence it with."""
NO_TIMEOUT_MS: Final = 2**31 - 1
"""The timeout of a transaction that an outside coordinator ends (KIP-939): there is none."""
NOT_STARTED: Final = -1

TopicPartition = tuple[str, int]


class Producer(NamedTuple):
    """A producer id in one of its epochs."""

    id: int
    epoch: int

    @property
    def is_exhausted(self) -> bool:
        """Whether it has no epoch left that could be given away."""
        return self.epoch >= EPOCH_MAX - 1


@frozen
class TransactionMetadata:
    """The last record of a transactional id, with its name. The log is all there is: nothing here is only in memory."""

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_ID
    """Whose id it was before the last record: by that a repeated request is known whose answer brought a new id."""
    next_producer_id: int = NO_ID
    next_producer_epoch: int = NO_EPOCH
    """While a transaction ends: who goes on, if that is not the same producer id. While it is open: who may end it, if
    it was taken over from a producer that is gone, with what it had prepared."""
    timeout_ms: int = 0
    state: State = State.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    started_ms: int = NOT_STARTED
    updated_ms: int = 0
    client_version: int = 0
    """The version of the protocol in which the client speaks of this transaction: 2 bumps the epoch at its end."""

    @property
    def producer(self) -> Producer:
        """Who writes, or has written last: this is what the partitions know."""
        return Producer(self.producer_id, self.producer_epoch)

    @property
    def is_taken_over(self) -> bool:
        """Whether who opened the transaction is gone, and somebody else is to end it as it is."""
        return self.state is State.ONGOING and self.next_producer_id != NO_ID

    @property
    def actor(self) -> Producer:
        """Who may ask for something now."""
        return Producer(self.next_producer_id, self.next_producer_epoch) if self.is_taken_over else self.producer

    @property
    def successor(self) -> Producer:
        """Who goes on when the transaction has ended; a new id begins with epoch 0."""
        if self.next_producer_id == NO_ID:
            return self.producer
        return Producer(self.next_producer_id, max(self.next_producer_epoch, 0))

    @property
    def open_since_ms(self) -> int | None:
        """From when on the time counts that its producer gave the transaction; None if none is open, or for as long as
        it takes. Who has taken one over has its own time for it, from then on: nothing was written since."""
        if self.state is not State.ONGOING or self.timeout_ms == NO_TIMEOUT_MS:
            return None
        return self.updated_ms if self.is_taken_over else self.started_ms
