"""A disk that fills up or fails: what was written stays, what was not is given up at once, appends work again."""

from __future__ import annotations

import errno
from random import Random

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure
from penstock.core.log.log import Log
from penstock.core.records.batch import read_header
from tests.examples import scaled
from tests.log.helpers import SMALL, Settings, append, batch_of, fill, new_log, offsets_of, reopen
from tests.log.memory_files import MemoryFiles, drive


@pytest.mark.parametrize("space_bytes", range(0, 900, 37))
def test_a_full_disk_loses_only_what_was_not_written(space_bytes: int) -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 9)
    losses: list[tuple[int, int]] = []
    log.on_progress = lambda: losses.append((log.end_offset, log.written_offset))
    files.space_bytes = space_bytes
    while log.end_offset == log.written_offset:
        fill(log, 1)
    files.finish_all()
    assert losses
    assert log.blocked is None
    assert log.end_offset == log.written_offset >= 9
    files.space_bytes = None
    kept = log.end_offset
    fill(log, 30)
    files.finish_all()
    assert log.written_offset == log.end_offset == kept + 30
    assert offsets_of(files, log) == list(range(kept + 30))
    again = reopen(files)
    assert offsets_of(files, again) == list(range(kept + 30))


def test_waiters_hear_of_the_loss_before_the_offsets_are_given_again() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings())
    fill(log, 3)
    seen: list[tuple[int, int]] = []
    log.on_progress = lambda: seen.append((log.written_offset, log.end_offset))
    files.space_bytes = 0
    fill(log, 1)
    assert (log.written_offset, log.end_offset) == (3, 4)
    files.finish_one()
    assert seen[0] == (3, 3)
    files.finish_all()
    files.space_bytes = None
    fill(log, 1)
    assert log.written_offset == 4


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_a_slow_disk_that_fills_up(seed: int) -> None:
    chance = Random(seed)
    files = MemoryFiles()
    log = new_log(files, SMALL)
    files.delay = Random(seed)
    for _ in range(6):
        files.space_bytes = chance.choice((None, None, 50, 300, 2000))
        for _ in range(chance.randint(1, 25)):
            if log.blocked is None:
                fill(log, 1, size=chance.choice((5, 200)))
            if chance.random() < 0.5:
                files.finish_one()
        files.space_bytes = None
        files.finish_all()
        assert log.failure is None
        assert log.blocked is None
        assert log.written_offset == log.end_offset
    files.delay = None
    assert offsets_of(files, log) == list(range(log.end_offset))
    assert offsets_of(files, reopen(files)) == list(range(log.end_offset))


def test_a_lost_batch_is_not_taken_for_a_duplicate() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings())
    first = batch_of(b"0.", producer_id=7, producer_epoch=0, base_sequence=0)
    second = batch_of(b"1.", producer_id=7, producer_epoch=0, base_sequence=1)
    append(log, first)
    files.space_bytes = 10
    append(log, second)
    assert log.producers.check(read_header(second)) is not None
    files.delay = Random(0)
    files.finish_one()
    with pytest.raises(ApiError) as caught:
        log.producers.check(read_header(second))
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    files.finish_all()
    files.space_bytes, files.delay = None, None
    assert log.producers.check(read_header(second)) is None
    assert log.producers.check(read_header(first)) is not None
    append(log, second)
    assert offsets_of(files, log) == [0, 1]


def test_nobody_gets_in_before_the_batch_that_was_lost_or_refused() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings())
    lost = batch_of(b"0.", producer_id=7, producer_epoch=0, base_sequence=0)
    refused = batch_of(b"0.", producer_id=8, producer_epoch=2, base_sequence=40)
    files.space_bytes = 10
    append(log, lost)
    files.delay = Random(0)
    files.finish_one()
    with pytest.raises(ApiError):
        log.producers.check(read_header(refused))
    files.finish_all()
    files.space_bytes, files.delay = None, None
    # Both producers are new here and have sent on meanwhile.
    for batch in (lost, refused):
        header = read_header(batch)
        with pytest.raises(ApiError) as caught:
            log.producers.check(header._replace(base_sequence=header.base_sequence + 1))
        assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert log.producers.check(header) is None


def test_a_failed_sync_takes_the_folder_offline() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 2)
    files.sync_failure = FileFailure(errno.EIO, "the disk is gone")
    with pytest.raises(FileFailure):
        drive(files, log.flush())
    assert log.failure is not None
    assert log.synced_offset == 0
    with pytest.raises(ApiError) as caught:
        fill(log, 1)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    files.sync_failure = None
    log.request_flush()
    assert log.synced_offset == 0


def begin_second_file(log: Log) -> int:
    """Append until something waits for the first file's name to last; gives where the second file begins."""
    while not log.awaits_first_sync:
        fill(log, 1)
    fill(log, 2)
    return log.active.base_offset


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_what_waits_for_the_first_file_is_given_up_when_its_sync_fails(seed: int) -> None:
    """Otherwise a power loss might take the first file and leave the second."""
    files = MemoryFiles()
    log = new_log(files)
    files.delay = Random(seed)
    files.sync_failure = FileFailure(errno.EIO, "the disk is gone")
    kept = begin_second_file(log)
    heard: list[int] = []
    log.on_progress = lambda: heard.append(log.end_offset)
    files.finish_all()
    assert (log.written_offset, log.end_offset, heard[-1]) == (kept, kept, kept)
    assert not log.writes
    assert log.failure is not None
    assert log.blocked == log.failure.message
    assert [path for path in files.paths() if path.endswith(".log")] == [log.segments[0].log.path]
    files.sync_failure = None
    assert offsets_of(files, reopen(files)) == list(range(kept))


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_what_waits_for_the_first_file_is_given_up_when_there_is_no_room_to_sync_it(seed: int) -> None:
    files = MemoryFiles()
    log = new_log(files)
    files.delay = Random(seed)
    kept = begin_second_file(log)
    files.space_bytes = sum(write.end_offset <= kept for write in log.writes) * 1000
    while log.written_offset < kept:
        assert files.finish_one()
    files.space_bytes = 0
    files.finish_all()
    assert (log.written_offset, log.end_offset) == (kept, kept)
    assert log.blocked is None
    assert log.synced_offset == 0
    files.space_bytes = None
    fill(log, 20)
    files.finish_all()
    assert offsets_of(files, log) == offsets_of(files, reopen(files)) == list(range(kept + 20))


def test_nothing_is_given_up_before_somebody_can_wait_for_it() -> None:
    """Not even when the file system refuses at once to write the index of the first file."""
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 3)
    kept = log.end_offset
    files.space_bytes = 0
    fill(log, 1, size=800)
    assert (log.written_offset, log.end_offset) == (kept, kept + 1)
    files.finish_all()
    assert (log.written_offset, log.end_offset) == (kept, kept)


def test_an_index_write_that_fails_is_made_good_later() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=1))
    fill(log, 12)
    files.space_bytes = 13
    log.roll(0)
    assert log.synced_offset == 0
    files.space_bytes = None
    fill(log, 1)
    drive(files, log.flush())
    assert log.synced_offset == 13
    assert offsets_of(files, reopen(files)) == list(range(13))
    size = len(files.content(log.segments[0].offsets.file.path))
    assert size == log.segments[0].offsets.stored_bytes
    assert size % 8 == 0
