"""What the settings no longer keep goes, oldest first, and nothing else."""

from __future__ import annotations

import errno
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure
from penstock.core.base.steps import Tasks
from tests.log.helpers import NOW_MS, Settings, append, batch_of, fill, load, new_log, records_of, reopen
from tests.log.memory_files import Crashed, MemoryFiles, drive

BASE = Settings(segment_bytes=1000, index_interval_bytes=150)


def settings_of(**changes: Any) -> Settings:
    return replace(BASE, **changes)


def test_old_segments_go_by_their_newest_record() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=1000))
    fill(log, 40)
    second_base = log.segments[1].base_offset
    newest = NOW_MS + second_base - 1
    assert drive(files, log.retain(newest + 1000)) == 0
    assert drive(files, log.retain(newest + 1001)) == 1
    assert log.start_offset == second_base
    assert [record.offset for record in records_of(files, log)] == list(range(second_base, 40))


def test_the_active_segment_goes_too_when_all_of_it_is_old() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=1000))
    fill(log, 40)
    count = len(log.segments)
    assert drive(files, log.retain(NOW_MS + 10_000)) == count
    assert (log.start_offset, log.end_offset, log.size_bytes()) == (40, 40, 0)
    assert drive(files, log.retain(NOW_MS + 10_000)) == 0
    fill(log, 1)
    assert [record.offset for record in records_of(files, log)] == [40]


def test_records_without_time_age_with_their_segment() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=1000))
    append(log, batch_of(b"x", timestamp=-1))
    assert drive(files, log.retain(NOW_MS + 1000)) == 0
    assert drive(files, log.retain(NOW_MS + 1001)) == 1


def test_size_keeps_at_least_what_is_asked_for() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_bytes=2500))
    fill(log, 40)
    drive(files, log.retain(NOW_MS))
    assert log.size_bytes() >= 2500
    assert log.size_bytes() - log.segments[0].size_bytes < 2500


def test_readers_keep_what_they_have_not_been_shown() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=0))
    fill(log, 40)
    bound = log.segments[2].base_offset
    drive(files, log.retain(NOW_MS + 10_000, bound + 1))
    assert log.start_offset == bound


@pytest.mark.parametrize("policy", [frozenset(), frozenset({"compact"})])
def test_without_the_delete_policy_only_deleted_records_go(policy: frozenset[str]) -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=0, retention_bytes=0, cleanup_policy=policy))
    fill(log, 40)
    assert drive(files, log.retain(NOW_MS + 10_000)) == 0
    drive(files, log.delete_records(log.segments[2].base_offset + 1))
    assert drive(files, log.retain(NOW_MS + 10_000)) == 2


def test_no_limits_keep_for_ever() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=-1, retention_bytes=-1))
    fill(log, 40)
    assert drive(files, log.retain(NOW_MS * 2)) == 0


def test_deleted_records_are_out_of_range_and_stay_so() -> None:
    files = MemoryFiles()
    directory = load(files, BASE)
    log = drive(files, directory.create("orders", bytes(16), 0, BASE, NOW_MS))
    fill(log, 40)
    drive(files, log.delete_records(17))
    drive(files, log.delete_records(3))
    assert log.start_offset == 17
    with pytest.raises(ApiError) as caught:
        drive(files, log.delete_records(41))
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    drive(files, directory.checkpoint())
    again = reopen(files, BASE)
    assert again.start_offset == 17
    assert [record.offset for record in records_of(files, again)] == list(range(17, 40))


def test_files_are_set_aside_and_unlinked_after_the_delay() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=1000, file_delete_delay_ms=500))
    fill(log, 40)
    piece = drive(files, log.read(0, 100, 40, True))
    drive(files, log.retain(NOW_MS + 10_000))
    assert any(path.endswith(".log.deleted") for path in files.paths())
    # A slice given before still names its file.
    assert piece.file.path in files.paths()
    drive(files, log.purge(NOW_MS + 10_499))
    assert any(path.endswith(".deleted") for path in files.paths())
    drive(files, log.purge(NOW_MS + 10_500))
    assert not any(path.endswith(".deleted") for path in files.paths())
    remaining = [path for path in files.paths() if path.endswith((".log", ".index", ".timeindex", ".snapshot"))]
    # The empty segment's file keeps the log's place.
    assert remaining == [f"/data/orders-0/{40:020d}.log", f"/data/orders-0/{40:020d}.snapshot"]


def test_where_there_is_no_room_for_another_name_files_go_at_once() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=1000, file_delete_delay_ms=500))
    fill(log, 40)
    count = len(log.segments)
    files.rename_failure = FileFailure(errno.ENOSPC, "no space left")
    assert drive(files, log.retain(NOW_MS + 10_000)) == count
    assert [path for path in files.paths() if path.endswith((".log", ".index", ".deleted"))] == [
        f"/data/orders-0/{40:020d}.log"
    ]
    files.rename_failure = None
    fill(log, 1)
    assert [record.offset for record in records_of(files, log)] == [40]


def test_a_reader_goes_on_in_what_is_left() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=1000, file_delete_delay_ms=0))
    fill(log, 40)
    results: list[object] = []
    files.delay = Random(0)
    Tasks(files).run(log.read(log.segments[1].base_offset, 100, 40, True), results.append)
    reading = files.pending.pop()
    files.delay = None
    drive(files, log.delete_records(log.segments[2].base_offset))
    drive(files, log.retain(NOW_MS))
    drive(files, log.purge(NOW_MS))
    files.pending.append(reading)
    files.finish_all()
    error = results[0]
    assert isinstance(error, ApiError)
    assert error.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_process_may_die_at_any_operation_of_retention() -> None:
    settings = settings_of(retention_ms=1000)
    count = 0
    while True:
        files = MemoryFiles()
        log = new_log(files, settings)
        fill(log, 40)
        drive(files, log.flush())
        files.operations_left = count
        try:
            drive(files, log.retain(NOW_MS + 1025))
            break
        except Crashed:
            count += 1
        files.operations_left = None
        for disk_loss in (False, True):
            if disk_loss:
                files.disk.lose_power(Random(count))
            again = reopen(files, settings)
            offsets = [record.offset for record in records_of(MemoryFiles(files.disk), again)]
            assert offsets == list(range(again.start_offset, 40))
    assert count > 10


@pytest.mark.parametrize("seed", range(10))
def test_producers_outlive_their_records(seed: int) -> None:
    settings = settings_of(retention_ms=1000)
    files = MemoryFiles()
    log = new_log(files, settings)
    drive(files, log.flush())
    for sequence in range(3):
        append(log, batch_of(b"x", producer_id=1, producer_epoch=0, base_sequence=sequence))
    files.delay = Random(seed)
    drive(files, log.retain(NOW_MS + 2000))
    files.disk.lose_power(Random(seed))
    again = reopen(files, settings)
    assert again.end_offset == 3
    known = again.producers.get(1)
    assert known is not None
    assert known.last_sequence == 2


def test_a_full_disk_does_not_keep_retention_from_making_room() -> None:
    files = MemoryFiles()
    log = new_log(files, settings_of(retention_ms=1000, file_delete_delay_ms=0))
    fill(log, 40)
    files.space_bytes = 0
    assert drive(files, log.retain(NOW_MS + 10_000)) > 3
    drive(files, log.purge(NOW_MS + 10_000))
    assert sum(len(files.content(path)) for path in files.paths() if path.endswith(".log")) == 0
