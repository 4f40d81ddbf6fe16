"""What a reader sees of fetched bytes: markers never, aborted records only when asked for everything."""

import pytest

from penstock.client.batches import read_batches
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.records.errors import CorruptBatch
from penstock.core.wire.api.fetch import AbortedTransaction


def plain(base: int, *values: bytes) -> bytes:
    return bytes(build_batch([(None, value, (), 1) for value in values], base_offset=base))


def transactional(base: int, producer: int, *values: bytes) -> bytes:
    records = [(None, value, (), 1) for value in values]
    batch = build_batch(
        records, base_offset=base, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True
    )
    return bytes(batch)


def marker(base: int, producer: int, committed: bool) -> bytes:
    return bytes(build_end_transaction(EndTransaction(committed, 0), producer, 0, 1, base_offset=base))


def aborted(producer: int, first: int) -> AbortedTransaction:
    return AbortedTransaction(producer_id=producer, first_offset=first)


def values(blob: bytes, first: int = 0, end: int | None = None, *aborts: AbortedTransaction) -> list[bytes | None]:
    return [record.value for record in read_batches(blob, first, end, aborts)[0]]


def test_records_of_all_batches_in_order() -> None:
    records, next_offset = read_batches(plain(5, b"a", b"b") + plain(7, b"c"), 5)
    assert [(record.offset, record.value) for record in records] == [(5, b"a"), (6, b"b"), (7, b"c")]
    assert next_offset == 8


def test_a_batch_that_begins_before_the_position_gives_only_what_comes_after() -> None:
    assert values(plain(5, b"a", b"b", b"c"), 6) == [b"b", b"c"]


def test_nothing_from_the_end_on() -> None:
    assert values(plain(0, b"a", b"b", b"c") + plain(3, b"d"), 0, 2) == [b"a", b"b"]


def test_a_cut_tail_is_left_for_the_next_fetch() -> None:
    whole = plain(0, b"a")
    for cut in range(1, len(whole)):
        records, next_offset = read_batches(whole + plain(1, b"b")[:cut], 0)
        assert ([record.value for record in records], next_offset) == ([b"a"], 1)


def test_no_bytes_no_progress() -> None:
    assert read_batches(b"", 17) == ([], 17)


def test_a_flipped_bit_is_found() -> None:
    damaged = bytearray(plain(3, b"abc"))
    damaged[-2] ^= 1
    with pytest.raises(CorruptBatch, match="offset 3"):
        read_batches(damaged, 3)


def test_markers_never_show_but_are_passed() -> None:
    blob = transactional(0, 9, b"a") + marker(1, 9, committed=True)
    records, next_offset = read_batches(blob, 0)
    assert [record.value for record in records] == [b"a"]
    assert next_offset == 2


def test_aborted_records_are_hidden_up_to_their_marker() -> None:
    blob = (
        transactional(0, 9, b"gone")
        + transactional(1, 8, b"kept")
        + plain(2, b"plain")
        + marker(3, 9, committed=False)
        + transactional(4, 9, b"later")
        + marker(5, 9, committed=True)
        + marker(6, 8, committed=True)
    )
    assert values(blob, 0, None, aborted(9, 0)) == [b"kept", b"plain", b"later"]
    assert values(blob) == [b"gone", b"kept", b"plain", b"later"]


def test_two_aborted_transactions_of_one_producer() -> None:
    blob = (
        transactional(0, 9, b"x")
        + marker(1, 9, committed=False)
        + transactional(2, 9, b"kept")
        + marker(3, 9, committed=True)
        + transactional(4, 9, b"y")
        + marker(5, 9, committed=False)
    )
    assert values(blob, 0, None, aborted(9, 4), aborted(9, 0)) == [b"kept"]


def test_an_abort_that_began_before_the_fetched_range() -> None:
    blob = transactional(10, 9, b"gone") + marker(11, 9, committed=False)
    assert values(blob, 10, None, aborted(9, 2)) == []
