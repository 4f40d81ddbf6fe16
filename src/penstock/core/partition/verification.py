"""Which transactions were vouched for in one partition, until their first batch is in its log (KIP-890).

A batch that begins a transaction here is taken only once the coordinator knows of this partition: else nobody would
ever end what it began. While the coordinator is asked, what the producer sends on waits in line behind its first batch.
What was vouched for is over with the first batch that is written, or with a marker that comes meanwhile: the answer was
about a transaction that has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.log.producers import Producer
from penstock.core.records.batch import NO_SEQUENCE

Vouched = Callable[[ErrorCode], None]


class Begins(Protocol):
    """What is known of a batch that may begin a transaction."""

    @property
    def producer_id(self) -> int: ...

    @property
    def producer_epoch(self) -> int: ...

    @property
    def base_sequence(self) -> int: ...


class Unsequenced(NamedTuple):
    """What this node writes for a producer: only what clients send is numbered."""

    producer_id: int
    producer_epoch: int
    base_sequence: int = NO_SEQUENCE


class Verification:
    """One producer's transaction that is to begin here."""

    __slots__ = (
        "_waiting",
        "began_ms",
        "bumps_epoch",
        "epoch",
        "is_asked",
        "is_over",
        "is_verified",
        "lowest_sequence",
    )

    def __init__(self, epoch: int, sequence: int, bumps_epoch: bool, began_ms: int) -> None:
        self.epoch = epoch
        # Where the lowest one failed, the next ones must not be written: it could never be again.
        self.lowest_sequence = sequence
        # The producer has another epoch in each transaction, so that a marker of its own epoch ended the one before.
        self.bumps_epoch = bumps_epoch
        self.began_ms = began_ms
        self.is_asked = self.is_verified = self.is_over = False
        self._waiting: list[Vouched] = []

    def wait(self, vouched: Vouched) -> bool:
        """Hear once of what the coordinator says; whether it must be asked for that."""
        self._waiting.append(vouched)
        must_ask, self.is_asked = not self.is_asked, True
        return must_ask

    def answered(self, code: ErrorCode) -> None:
        """Everybody who waits hears it, in the order in which they came."""
        self.is_asked = False
        self.is_verified = code is ErrorCode.NONE
        waiting, self._waiting = self._waiting, []
        for vouched in waiting:
            vouched(code)

    def admit(self, producer: Producer | None, header: Begins) -> None:
        """Whether the batch that is to begin the transaction may be the first."""
        if producer is not None and header.producer_epoch < producer.epoch:
            raise stale(producer, header)
        if self.is_over or not self.is_verified:
            raise ApiError(ErrorCode.INVALID_TXN_STATE, "the batch is not part of an ongoing transaction")
        sequence, is_unknown = header.base_sequence, producer is None or not producer.marks
        if sequence > self.lowest_sequence or (self.bumps_epoch and is_unknown and sequence > 0):
            raise ApiError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} begins with sequence {sequence}, not {self.lowest_sequence}",
            )


def stale(producer: Producer, header: Begins) -> ApiError:
    """A batch of an epoch that is over."""
    text = f"producer {header.producer_id} has epoch {producer.epoch}, the batch has {header.producer_epoch}"
    return ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, text)


ONGOING: Final = Verification(0, 0, bumps_epoch=False, began_ms=0)
"""What stands for a verification where none is needed: the transaction has begun here, and must still be open."""
ONGOING.is_verified = ONGOING.is_over = True

UNCHECKED: Final = Verification(0, 2**31 - 1, bumps_epoch=False, began_ms=0)
"""What stands for one where nobody asks for it."""
UNCHECKED.is_verified = True


class Verifications:
    """All of them, by producer id."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[int, Verification] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def begin(self, header: Begins, bumps_epoch: bool, now_ms: int) -> Verification:
        """The verification that a batch has to wait for. A producer that comes back with a new epoch is another one."""
        producer_id, epoch, sequence = header.producer_id, header.producer_epoch, header.base_sequence
        known = self._by_id.get(producer_id)
        if known is not None and known.epoch == epoch:
            known.lowest_sequence = min(known.lowest_sequence, sequence)
            return known
        if known is not None:
            if epoch < known.epoch and (known.is_asked or known.is_verified):
                raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, f"producer {producer_id} has epoch {known.epoch}")
            self._end(producer_id, ErrorCode.INVALID_PRODUCER_EPOCH)
        begun = self._by_id[producer_id] = Verification(epoch, sequence, bumps_epoch, now_ms)
        return begun

    def written(self, producer_id: int) -> None:
        """The transaction has begun here: from now on the log knows of it."""
        known = self._by_id.pop(producer_id, None)
        if known is not None:
            known.is_over = True

    def marked(self, producer_id: int, epoch: int) -> None:
        """A marker was written. One with the epoch of a transaction that bumps epochs ended the transaction before."""
        known = self._by_id.get(producer_id)
        if known is not None and not (known.bumps_epoch and known.epoch == epoch):
            self.written(producer_id)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget those that never came true."""
        gone = [each for each, known in self._by_id.items() if now_ms - known.began_ms >= expiration_ms]
        for producer_id in gone:
            self._end(producer_id, ErrorCode.INVALID_TXN_STATE)

    def fail(self, code: ErrorCode) -> None:
        """This replica leads no longer: nothing of what waits is appended."""
        for producer_id in list(self._by_id):
            self._end(producer_id, code)

    def _end(self, producer_id: int, code: ErrorCode) -> None:
        known = self._by_id.pop(producer_id)
        known.is_over = True
        known.answered(code)
