"""What is known of each idempotent producer: epoch, last five batches, open transaction. A fold over batch headers.

`check` decides about a batch that a client sent; `append` and `complete` replay what the log holds and never refuse,
so that recovery and normal work share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.log.txn_index import AbortedTransaction
from penstock.core.records.batch import (
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
)
from penstock.core.records.control import EndTransaction

BATCHES_MAX: Final = 5
REPLAYED_MAX: Final = 100_000
"""How many producers a fold keeps at most, whatever the log holds: a start must not need more memory than there is."""
NO_OFFSET: Final = -1
EPOCH_MAX: Final = 2**15 - 1
_SEQUENCE_MASK: Final = (1 << 31) - 1


class Duplicate(NamedTuple):
    """Where a batch that came again already is. It may not be Written yet: an answer still waits for its offset."""

    base_offset: int
    last_offset: int
    timestamp: int


class Mark(NamedTuple):
    """One of a producer's last batches."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & _SEQUENCE_MASK


class Producer:
    """One producer's state in one partition."""

    __slots__ = ("coordinator_epoch", "epoch", "last_timestamp", "marks", "sequence_before", "transaction_offset")

    def __init__(self, epoch: int = NO_PRODUCER_EPOCH) -> None:
        self.epoch = epoch
        self.coordinator_epoch = -1
        self.last_timestamp = NO_TIMESTAMP
        self.transaction_offset = NO_OFFSET
        self.marks: list[Mark] = []
        # What counts as the last sequence while there is no batch.
        self.sequence_before = NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return self.marks[-1].last_sequence if self.marks else self.sequence_before

    @property
    def last_offset(self) -> int:
        """The last data batch's, markers aside."""
        return self.marks[-1].last_offset if self.marks else NO_OFFSET

    def is_in_transaction(self, epoch: int) -> bool:
        """Whether a transaction of this epoch has begun here and not ended."""
        return self.transaction_offset >= 0 and self.epoch == epoch

    def enter_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self.marks.clear()
            self.sequence_before = NO_SEQUENCE


class Producers:
    """All producers of one partition."""

    __slots__ = ("_by_id", "_ongoing", "_unreplicated")

    def __init__(self) -> None:
        self._by_id: dict[int, Producer] = {}
        # Transactions by first offset, oldest first, because they are entered as the log grows.
        self._ongoing: dict[int, int] = {}
        # Decided ones by first offset, with their marker's offset, until the high watermark passes the marker.
        self._unreplicated: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def items(self) -> Iterator[tuple[int, Producer]]:
        return iter(self._by_id.items())

    def get(self, producer_id: int) -> Producer | None:
        return self._by_id.get(producer_id)

    def load(self, producer_id: int, producer: Producer) -> None:
        """Take a producer from a snapshot; transactions are entered by `sort_transactions` at the end."""
        self._by_id[producer_id] = producer

    def sort_transactions(self) -> None:
        open_ones = ((p.transaction_offset, i) for i, p in self._by_id.items() if p.transaction_offset >= 0)
        self._ongoing = dict(sorted(open_ones))

    def check(self, header: BatchHeader) -> Duplicate | None:
        """Whether a client's batch comes next: None if so, `Duplicate` if it is here already, else its error."""
        producer = self._by_id.get(header.producer_id)
        if producer is None:
            # Nothing is known, perhaps because retention took it: the producer may go on anywhere.
            return None
        sequence = header.base_sequence
        if header.producer_epoch == producer.epoch:
            if sequence != (producer.last_sequence + 1) & _SEQUENCE_MASK:
                return _find_duplicate(producer, header)
        elif header.producer_epoch < producer.epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {producer.epoch}, the batch has {header.producer_epoch}",
            )
        elif sequence != 0 and producer.epoch != NO_PRODUCER_EPOCH:
            raise _wrong_sequence(header, "a new epoch begins with sequence 0")
        if producer.transaction_offset >= 0 and not header.attributes & TRANSACTIONAL_BIT:
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE, f"producer {header.producer_id} has an open transaction in this partition"
            )
        return None

    def check_end(self, producer_id: int, epoch: int, end: EndTransaction, transaction_version: int) -> None:
        """Whether a coordinator may end a producer's transaction. Since version 2 of transactions the marker has the
        epoch after the transaction's, so that one that comes late ends no later one; it may come again."""
        if epoch < 0:
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, f"a marker has no epoch {epoch}")
        producer = self._by_id.get(producer_id)
        if producer is None:
            return
        is_late = transaction_version >= 2 and epoch == producer.epoch < EPOCH_MAX and producer.transaction_offset >= 0
        if epoch < producer.epoch or is_late:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} has epoch {producer.epoch}, the marker has {epoch}",
            )
        if end.coordinator_epoch < producer.coordinator_epoch:
            raise ApiError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"the coordinator of epoch {producer.coordinator_epoch} has been here, not {end.coordinator_epoch}",
            )

    def append(self, header: BatchHeader, base_offset: int) -> None:
        """Replay a data batch at the offset it got."""
        producer_id, delta = header.producer_id, header.last_offset_delta
        producer = self._by_id.get(producer_id)
        if producer is None:
            producer = self._by_id[producer_id] = Producer(header.producer_epoch)
            if len(self._by_id) > REPLAYED_MAX:
                self.forget_oldest(REPLAYED_MAX // 2)
        elif producer.epoch != header.producer_epoch:
            producer.enter_epoch(header.producer_epoch)
        marks = producer.marks
        if len(marks) == BATCHES_MAX:
            del marks[0]
        marks.append(Mark(header.last_sequence, base_offset + delta, delta, header.max_timestamp))
        producer.last_timestamp = header.max_timestamp
        if header.attributes & TRANSACTIONAL_BIT and producer.transaction_offset < 0:
            producer.transaction_offset = base_offset
            self._ongoing[base_offset] = producer_id

    def complete(self, header: BatchHeader, offset: int, end: EndTransaction) -> AbortedTransaction | None:
        """Replay the marker that ends a transaction; gives what the transaction index must remember, if anything."""
        producer_id = header.producer_id
        producer = self._by_id.get(producer_id)
        if producer is None:
            producer = self._by_id[producer_id] = Producer()
        first_offset = producer.transaction_offset
        producer.enter_epoch(header.producer_epoch)
        producer.coordinator_epoch = end.coordinator_epoch
        producer.last_timestamp = header.max_timestamp
        producer.transaction_offset = NO_OFFSET
        if first_offset < 0:
            return None
        self._ongoing.pop(first_offset, None)
        self._unreplicated[first_offset] = offset
        if end.committed:
            return None
        return AbortedTransaction(producer_id, first_offset, offset, next(iter(self._ongoing), offset + 1))

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open, or whose marker may not be replicated yet."""
        oldest = [next(iter(known)) for known in (self._ongoing, self._unreplicated) if known]
        return min(oldest) if oldest else None

    def last_stable_offset(self, high_watermark: int) -> int:
        """What a read_committed reader may see: below this every transaction is decided, and surely so."""
        if not self._ongoing and not self._unreplicated:
            return high_watermark
        if self._unreplicated:
            self._unreplicated = {first: at for first, at in self._unreplicated.items() if at >= high_watermark}
        unstable = self.first_unstable_offset
        return high_watermark if unstable is None else min(unstable, high_watermark)

    def remember(self, known: Producers) -> None:
        """Take over what `known` still knows of batches before those that were replayed: a snapshot has only the last
        one of each producer, and another one of the last five may be repeated."""
        for producer_id, producer in self._by_id.items():
            before = known.get(producer_id)
            if before is not None and before.epoch == producer.epoch and producer.marks:
                first_offset = producer.marks[0].last_offset
                producer.marks[:0] = [mark for mark in before.marks if mark.last_offset < first_offset]

    def forget_oldest(self, count: int) -> None:
        """Forget those whose last batch is the oldest, but for the newest of all and those with an open transaction."""
        idle = [
            (producer.last_offset, producer_id)
            for producer_id, producer in self._by_id.items()
            if producer.transaction_offset < 0
        ]
        idle.sort()
        for _, producer_id in idle[: max(0, min(count, len(idle) - 1))]:
            del self._by_id[producer_id]

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that have long been silent, unless a transaction is open; gives how many."""
        gone = [
            producer_id
            for producer_id, producer in self._by_id.items()
            if producer.transaction_offset < 0 and now_ms - producer.last_timestamp >= expiration_ms
        ]
        for producer_id in gone:
            del self._by_id[producer_id]
        return len(gone)


class SuspendedProducers(Producers):
    """Stands in while a failed append is undone: what is `known` may be of batches that are lost.

    It remembers who was turned away. A producer sends on without waiting, and one that is otherwise unknown could
    begin anywhere: its next batch must not get in before the one that was lost or refused.
    """

    __slots__ = ("_turned_away", "has_lost", "known")

    def __init__(self, known: Producers) -> None:
        super().__init__()
        self.known = known
        self.has_lost = False
        self._by_id, self._ongoing, self._unreplicated = known._by_id, known._ongoing, known._unreplicated
        self._turned_away: dict[int, BatchHeader] = {}

    def check(self, header: BatchHeader) -> NoReturn:
        self.turn_away(header)
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "a failed write is being undone")

    def lose(self, header: BatchHeader) -> None:
        """A batch that is in `known` is lost, which makes all of it doubtful."""
        self.has_lost = True
        self.turn_away(header)

    def turn_away(self, header: BatchHeader) -> None:
        self._turned_away.setdefault(header.producer_id, header)

    def hand_over(self, producers: Producers) -> None:
        """Let those who were turned away and are not known begin with the batch they were turned away with."""
        for producer_id, header in self._turned_away.items():
            if producers.get(producer_id) is None:
                producer = Producer(header.producer_epoch)
                producer.sequence_before = header.base_sequence - 1
                producer.last_timestamp = header.max_timestamp
                producers.load(producer_id, producer)


def _find_duplicate(producer: Producer, header: BatchHeader) -> Duplicate:
    for mark in producer.marks:
        if mark.last_sequence == header.last_sequence and mark.first_sequence == header.base_sequence:
            return Duplicate(mark.last_offset - mark.offset_delta, mark.last_offset, mark.timestamp)
    raise _wrong_sequence(header, f"the last one here is {producer.last_sequence}")


def _wrong_sequence(header: BatchHeader, why: str) -> ApiError:
    return ApiError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} epoch {header.producer_epoch} sent sequence {header.base_sequence}; {why}",
    )
