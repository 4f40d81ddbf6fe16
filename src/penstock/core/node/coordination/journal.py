"""An internal partition as a machine's journal: its records become batches, and a reply waits for their commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.core.base.errors import ErrorCode
from penstock.core.node.deadlines import Deadline
from penstock.core.node.host import Clock
from penstock.core.partition.partition import Partition
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.rsm.result import KeyValue, Marker, Transaction


class PartitionJournal:
    """A machine's records as batches of an internal partition."""

    def __init__(self, clock: Clock, partition: Partition, codec: Codec, patience_ms: Callable[[], int]) -> None:
        """`patience_ms`: for how long somebody is let wait for a commit."""
        self._clock = clock
        self._partition = partition
        self._codec = codec
        self._patience_ms = patience_ms

    def append(self, records: Sequence[KeyValue], now_ms: int, transaction: Transaction | None = None) -> int:
        stamped = [(key, value, (), now_ms) for key, value in records]
        if transaction is None:
            return self._append(build_batch(stamped, codec=self._codec), now_ms)
        producer_id, epoch = transaction
        batch = build_batch(
            stamped, codec=self._codec, producer_id=producer_id, producer_epoch=epoch, transactional=True
        )
        return self._append(batch, now_ms)

    def end_transaction(self, marker: Marker, now_ms: int) -> int:
        return self._partition.end_transaction(marker, now_ms)

    def _append(self, batch: bytearray, now_ms: int) -> int:
        return self._partition.append_own(batch, read_header(batch), now_ms)

    def when_committed(self, next_offset: int, call: Callable[[ErrorCode], None]) -> None:
        """Calls with REQUEST_TIMED_OUT when that takes too long, and once more when it is known how it ended."""
        waiting = _Call(call)
        if not self._partition.wait(next_offset, waiting):
            call(ErrorCode.NONE)
            return
        clock = self._clock
        end_ms = clock.now_ms + self._patience_ms()
        waiting.end = clock.deadlines.at(end_ms, lambda: call(ErrorCode.REQUEST_TIMED_OUT))


class _Call:
    """An `AckWaiter` made of a function."""

    __slots__ = ("_call", "end")

    def __init__(self, call: Callable[[ErrorCode], None]) -> None:
        self._call = call
        self.end: Deadline | None = None

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        if self.end is not None:
            self.end.cancel()
        self._call(error)
