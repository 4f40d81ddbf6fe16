"""Offsets committed in transactions, as a log of Kafka's may hold them: what counts, and which of two."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.rsm.fold import Fold
from penstock.core.rsm.result import Transaction


class Log:
    """Batches handed over one after the other, each with one record or one marker."""

    def __init__(self) -> None:
        self.counted: dict[bytes, bytes | None] = {}
        self._records = Fold(lambda key, value, timestamp: self.counted.__setitem__(key, value))
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


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "commit", "abort"]), st.sampled_from([b"a", b"b"]), st.integers(-1, 2)
    ),
    max_size=20,
)


@given(STEPS)
def test_what_is_written_counts_as_what_is_read(steps: list[tuple[str, bytes, int]]) -> None:
    """A machine that lives and one that is loaded hear the same."""
    read = Log()
    counted: dict[bytes, bytes | None] = {}
    living = Fold(lambda key, value, timestamp: counted.__setitem__(key, value))
    for offset, (what, key, producer) in enumerate(steps):
        value = str(offset).encode()
        if what == "write":
            read.write(key, value, producer)
            living.appended([(key, value)], offset, 0, Transaction(producer, 0) if producer >= 0 else None)
        else:
            read.end(producer, what == "commit")
            living.ended(producer, what == "commit")
    assert counted == read.counted


def test_what_waits_for_a_marker_is_known() -> None:
    fold = Fold(lambda key, value, timestamp: None)
    fold.appended([(b"k", b"1")], 0, 0, Transaction(7, 0))
    assert fold.are_open
    assert fold.pending(b"k")
    assert not fold.pending(b"other")
    fold.ended(7, committed=False)
    assert not fold.are_open
    assert not fold.pending(b"k")
