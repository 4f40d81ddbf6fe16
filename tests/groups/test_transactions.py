"""Offsets committed in transactions, as a log of Kafka's may hold them: what counts, and which of two."""

from __future__ import annotations

from penstock.core.groups.transactions import CommittedRecords
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction


class Log:
    """Batches handed over one after the other, each with one record or one marker."""

    def __init__(self) -> None:
        self.counted: dict[bytes, bytes | None] = {}
        self._records = CommittedRecords(lambda key, value, timestamp: self.counted.__setitem__(key, value))
        self._offset = 0

    def write(self, key: bytes, value: bytes | None, producer: int = -1) -> None:
        records = [(key, value, (), 0)]
        of_transaction = producer >= 0
        batch = build_batch(records, base_offset=self._offset, producer_id=producer, transactional=of_transaction)
        self._take(batch)

    def end(self, producer: int, committed: bool) -> None:
        self._take(build_end_transaction(EndTransaction(committed, 0), producer, 0, 0, base_offset=self._offset))

    def _take(self, batch: bytearray) -> None:
        self._offset += 1
        self._records.take(batch, 0, read_header(batch))


def test_a_record_outside_transactions_counts_at_once() -> None:
    log = Log()
    log.write(b"k", b"1")
    assert log.counted == {b"k": b"1"}


def test_a_transaction_counts_from_its_marker_on() -> None:
    log = Log()
    log.write(b"k", b"1", producer=7)
    assert log.counted == {}
    log.end(8, committed=True)
    assert log.counted == {}
    log.end(7, committed=True)
    assert log.counted == {b"k": b"1"}


def test_an_aborted_transaction_never_counts() -> None:
    log = Log()
    log.write(b"k", b"0")
    log.write(b"k", b"1", producer=7)
    log.end(7, committed=False)
    assert log.counted == {b"k": b"0"}
    log.write(b"k", b"2", producer=7)
    log.end(7, committed=True)
    assert log.counted == {b"k": b"2"}


def test_what_was_written_later_wins_whenever_its_transaction_ends() -> None:
    log = Log()
    log.write(b"k", b"1", producer=7)
    log.write(b"k", b"2", producer=8)
    log.write(b"l", b"1", producer=7)
    log.write(b"l", b"2")
    log.end(8, committed=True)
    log.end(7, committed=True)
    assert log.counted == {b"k": b"2", b"l": b"2"}


def test_a_tombstone_in_a_transaction_removes() -> None:
    log = Log()
    log.write(b"k", b"1")
    log.write(b"k", None, producer=7)
    log.end(7, committed=True)
    assert log.counted == {b"k": None}
