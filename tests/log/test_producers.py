"""Idempotence and transactions as Kafka 4.3 decides them, and the snapshot that carries them over a restart."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.log import snapshots
from penstock.core.log.producers import Duplicate, Producers
from penstock.core.records.batch import BatchHeader, read_header
from penstock.core.records.control import EndTransaction, build_end_transaction
from tests.log.helpers import NOW_MS, SMALL, append, batch_of, load, new_log, reopen
from tests.log.memory_files import MemoryFiles, drive

WRAP = 1 << 31


def header_of(sequence: int, count: int = 1, epoch: int = 0, producer_id: int = 5, **fields: Any) -> BatchHeader:
    values = [b"v"] * count
    return read_header(
        batch_of(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, **fields)
    )


def refused(producers: Producers, header: BatchHeader) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        producers.check(header)
    return caught.value.code


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert Producers().check(header_of(17)) is None


def test_sequences_follow_each_other() -> None:
    producers = Producers()
    producers.append(header_of(0, count=3), 100)
    assert producers.check(header_of(3)) is None
    assert refused(producers, header_of(4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(producers, header_of(2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_last_five_batches_are_known_as_duplicates() -> None:
    producers = Producers()
    for number in range(7):
        producers.append(header_of(number * 2, count=2), 100 + number * 2)
    for number in range(2, 7):
        assert producers.check(header_of(number * 2, count=2)) == Duplicate(100 + number * 2, 101 + number * 2, NOW_MS)
    assert refused(producers, header_of(2, count=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    # The same first sequence with another number of records is no duplicate.
    assert refused(producers, header_of(12, count=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap() -> None:
    producers = Producers()
    producers.append(header_of(WRAP - 2, count=2), 0)
    assert producers.check(header_of(0)) is None
    assert refused(producers, header_of(1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producers.append(header_of(0), 2)
    across = header_of(1, count=3)._replace(base_sequence=WRAP - 1)
    producers.append(across, 3)
    assert producers.check(across) == Duplicate(3, 5, NOW_MS)
    assert producers.check(header_of(2)) is None


def test_epochs_fence_and_begin_at_zero() -> None:
    producers = Producers()
    producers.append(header_of(0, epoch=3), 0)
    assert refused(producers, header_of(1, epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(producers, header_of(1, epoch=4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(header_of(0, epoch=4)) is None
    producers.append(header_of(0, epoch=4), 1)
    assert producers.check(header_of(0, epoch=4)) == Duplicate(1, 1, NOW_MS)
    assert refused(producers, header_of(0, epoch=3)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_silent_producers_expire_but_not_within_a_transaction() -> None:
    producers = Producers()
    producers.append(header_of(0, producer_id=1), 0)
    producers.append(header_of(0, producer_id=2, transactional=True), 1)
    assert producers.expire(NOW_MS + 999, 1000) == 0
    assert producers.expire(NOW_MS + 1000, 1000) == 1
    assert [producer_id for producer_id, _ in producers.items()] == [2]
    assert producers.check(header_of(9, producer_id=1)) is None


def test_transactions_hold_the_last_stable_offset() -> None:
    producers = Producers()
    producers.append(header_of(0, producer_id=1, transactional=True), 10)
    producers.append(header_of(0, producer_id=2, transactional=True), 20)
    assert refused(producers, header_of(1, producer_id=1)) is ErrorCode.INVALID_TXN_STATE
    assert producers.last_stable_offset(30) == 10
    marker = read_header(build_end_transaction(EndTransaction(False, 3), 1, 0, NOW_MS))
    aborted = producers.complete(marker, 25, EndTransaction(False, 3))
    assert aborted == (1, 10, 25, 20)
    # Decided, but the marker is not replicated: it could still be lost.
    assert producers.last_stable_offset(25) == 10
    assert producers.last_stable_offset(26) == 20
    marker = read_header(build_end_transaction(EndTransaction(True, 3), 2, 0, NOW_MS))
    assert producers.complete(marker, 26, EndTransaction(True, 3)) is None
    assert producers.last_stable_offset(27) == 27
    assert producers.first_unstable_offset is None
    known = producers.get(2)
    assert known is not None
    assert (known.coordinator_epoch, known.transaction_offset) == (3, -1)


def test_a_marker_of_a_higher_epoch_begins_sequences_anew() -> None:
    producers = Producers()
    producers.append(header_of(0, producer_id=1, transactional=True), 10)
    marker = read_header(build_end_transaction(EndTransaction(True, 0), 1, 1, NOW_MS))
    producers.complete(marker, 11, EndTransaction(True, 0))
    assert producers.check(header_of(0, epoch=1, producer_id=1, transactional=True)) is None
    assert refused(producers, header_of(1, producer_id=1, transactional=True)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_snapshot_keeps_the_last_batch_and_open_transactions() -> None:
    producers = Producers()
    producers.append(header_of(0, count=4), 40)
    producers.append(header_of(0, producer_id=9, transactional=True), 44)
    copy = snapshots.decode(snapshots.encode(producers))
    assert copy.check(header_of(0, count=4)) == Duplicate(40, 43, NOW_MS)
    assert copy.check(header_of(4)) is None
    assert copy.first_unstable_offset == 44
    assert snapshots.encode(copy) == snapshots.encode(producers)


def test_a_snapshot_has_kafkas_bytes() -> None:
    producers = Producers()
    producers.append(header_of(2, count=3, epoch=1), 7)
    data = snapshots.encode(producers)
    assert len(data) == 10 + 46
    assert data[:2] == b"\x00\x01"
    assert data[6:10] == b"\x00\x00\x00\x01"
    fields = [5, 1, 4, 9, 2, NOW_MS, -1, -1]
    widths = [8, 2, 4, 8, 4, 8, 4, 8]
    assert data[10:] == b"".join(f.to_bytes(w, "big", signed=True) for f, w in zip(fields, widths, strict=True))


@pytest.mark.parametrize("at", range(56))
def test_a_damaged_snapshot_is_not_believed(at: int) -> None:
    producers = Producers()
    producers.append(header_of(0), 0)
    data = bytearray(snapshots.encode(producers))
    with pytest.raises(snapshots.CorruptSnapshot):
        snapshots.decode(bytes(data[:at]))
    data[at] ^= 1
    with pytest.raises(snapshots.CorruptSnapshot):
        snapshots.decode(bytes(data))


@pytest.mark.parametrize("damage", ["none", "cut", "missing"])
@pytest.mark.parametrize("clean", [True, False])
def test_idempotence_survives_a_restart(clean: bool, damage: str) -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    for number in range(30):
        append(log, batch_of(b"x" * 90, producer_id=5, producer_epoch=0, base_sequence=number))
    if clean:
        drive(files, directory.close())
    else:
        drive(files, log.flush())
        drive(files, directory.checkpoint())
    for path in [path for path in files.paths() if path.endswith(".snapshot")]:
        if damage == "cut":
            del files.disk.names[path].live[20:]
        elif damage == "missing":
            del files.disk.names[path]
    log = reopen(files)
    assert log.producers.check(header_of(29)) == Duplicate(29, 29, NOW_MS)
    assert log.producers.check(header_of(30)) is None
    assert refused(log.producers, header_of(31)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_transactions_survive_a_crash() -> None:
    files = MemoryFiles()
    log = new_log(files)
    for number in range(20):
        append(log, batch_of(b"x" * 90, producer_id=1, producer_epoch=0, base_sequence=number, transactional=True))
    append(log, batch_of(b"y", producer_id=2, producer_epoch=0, base_sequence=0, transactional=True))
    append(log, build_end_transaction(EndTransaction(False, 0), 1, 0, NOW_MS))
    for candidate in (log, reopen(files)):
        assert candidate.producers.last_stable_offset(candidate.end_offset) == 20
        found = drive(files, candidate.aborted_transactions(3, 22))
        assert found == [(1, 0, 21, 20)]
        assert drive(files, candidate.aborted_transactions(22, 22)) == []
    drive(files, log.truncate_to(21))
    assert drive(files, log.aborted_transactions(3, 21)) == []
    assert log.producers.last_stable_offset(21) == 0
