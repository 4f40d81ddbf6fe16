"""Gaps in a follower's log, where compaction at its leader left nothing: what lies around them is whole, and what is
below one need not be there yet."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.core.log.log import Log
from penstock.core.log.reader import read
from penstock.core.records.batch import iterate_headers, read_header, stamp
from penstock.core.records.errors import CorruptBatch
from tests.log.helpers import NOW_MS, SMALL, batch_of, fill, load, new_log, offsets_of, reopen
from tests.log.memory_files import MemoryFiles, drive

COMPACTED = replace(SMALL, cleanup_policy=frozenset({"compact", "delete"}))


def accept_at(log: Log, offset: int, size: int = 900) -> None:
    batch = batch_of(b"%d" % offset + b"." * size, timestamp=NOW_MS + offset)
    stamp(batch, offset, 0)
    log.accept_copy(batch, read_header(batch), NOW_MS)


def copy_at(log: Log, offset: int, size: int = 900) -> None:
    """What a follower does with a batch that does not continue its log, because of compaction at its leader."""
    accept_at(log, offset, size)
    log.write_accepted()


def cut_within_a_gap(files: MemoryFiles) -> Log:
    """A log with three records that ends at 90."""
    log = new_log(files, COMPACTED)
    fill(log, 3)
    copy_at(log, 90, size=1)
    drive(files, log.truncate_to(90))
    return log


def with_a_file_to_be_made(files: MemoryFiles) -> Log:
    """The same, synced; it goes on in a file that the disk has not made yet."""
    log = cut_within_a_gap(files)
    drive(files, log.flush())
    files.delay = Random(0)
    copy_at(log, 90)
    return log


@pytest.mark.parametrize("synced", [False, True])
def test_a_gap_between_two_files_is_no_loss(synced: bool) -> None:
    """A follower copied what compaction had left, and its file was full just there."""
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 3)
    copy_at(log, 90)
    fill(log, 20)
    if synced:
        drive(files, log.flush())
    assert len(log.segments) > 3
    assert offsets_of(files, reopen(files)) == [0, 1, 2, *range(90, 111)]


def test_a_log_that_was_cut_within_a_gap_goes_on_in_another_file() -> None:
    files = MemoryFiles()
    log = cut_within_a_gap(files)
    copy_at(log, 90)
    assert len(log.segments) == 2
    assert offsets_of(files, reopen(files)) == [0, 1, 2, 90]


def test_a_leader_goes_on_below_a_gap_whose_other_side_was_lost() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 3)
    drive(files, log.flush())
    files.space_bytes = 0
    copy_at(log, 90)
    files.finish_all()
    files.space_bytes = None
    fill(log, 20)
    assert offsets_of(files, log) == offsets_of(files, reopen(files)) == list(range(23))


def test_no_offset_is_given_twice_when_all_below_a_gap_expires() -> None:
    files = MemoryFiles()
    log = cut_within_a_gap(files)
    drive(files, log.retain(NOW_MS + 8 * 86_400_000))
    assert not log.size_bytes()
    assert (log.start_offset, log.end_offset) == (90, 90)
    assert reopen(files).end_offset == 90


def test_a_gap_that_no_file_can_count_begins_another() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 3)
    far = 3 << 31
    copy_at(log, far)
    fill(log, 20)
    assert offsets_of(files, log) == [0, 1, 2, *range(far, far + 21)]


def test_a_flush_does_not_look_for_a_file_below_a_gap_that_is_still_to_be_made() -> None:
    """It begins below what was written, and nothing of it has been."""
    files = MemoryFiles()
    log = with_a_file_to_be_made(files)
    slow = [each for each in files.pending if each[0] is log.active.log]
    files.pending = [each for each in files.pending if each not in slow]
    files.finish_all()
    assert (log.failure, log.synced_offset) == (None, 90)
    files.pending += slow
    files.finish_all()
    drive(files, log.flush())
    assert (log.failure, log.synced_offset, len(log.segments)) == (None, 91, 2)


@pytest.mark.parametrize("seed", range(20))
def test_what_ends_before_a_gap_is_not_written_beyond_it(seed: int) -> None:
    """One answer of a leader brings what comes before a gap and what comes behind it, and the file is full between."""
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 2)
    drive(files, log.flush())
    files.delay = Random(seed)
    accept_at(log, 2, size=1)
    copy_at(log, 90)
    seen = []
    while files.finish_one():
        seen.append(log.written_offset)
    assert sorted(set(seen) - {2}) == [3, 91]
    assert (log.failure, log.synced_offset, len(log.segments)) == (None, 91, 2)


def test_readers_do_not_look_for_a_file_that_is_still_to_be_made() -> None:
    files = MemoryFiles()
    log = with_a_file_to_be_made(files)
    files.delay = None
    assert drive(files, log.read(5, 1 << 20, log.written_offset, True)) is None
    assert drive(files, log.offset_for_time(NOW_MS + 90)) is None
    assert drive(files, log.max_timestamp()) is None
    files.finish_all()
    assert drive(files, log.offset_for_time(NOW_MS + 90)) == (NOW_MS + 90, 90, 0)


def test_where_nothing_is_compacted_a_cut_leaves_no_gap() -> None:
    """The offset of a batch is not under its checksum, so one that has rotted may seem to stand further on. Its leader
    says where the log ends, and has what is missing before that."""
    files = MemoryFiles()
    fill(new_log(files), 4)
    ((path, file),) = ((path, each) for path, each in files.disk.names.items() if path.endswith(".log"))
    headers = [
        position for position in range(len(file.live)) if file.live[position : position + 8] == b"\0" * 7 + b"\3"
    ]
    file.live[headers[-1] + 7] ^= 4
    rotten = MemoryFiles(files.disk)
    log = load(rotten).logs["orders", 0]
    lacking: list[tuple[int, int]] = []
    log.context = replace(log.context, on_lack=lambda log, offset: lacking.append((log.end_offset, offset)))
    assert (log.end_offset, path) == (8, log.active.log.path)
    drive(rotten, log.truncate_to(4))
    assert log.end_offset == 3
    assert lacking == [(3, 4)]
    copy_at(log, 3)
    assert offsets_of(rotten, log) == offsets_of(rotten, reopen(rotten)) == [0, 1, 2, 3]


@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize("offset", [0, 2, 3])
def test_a_batch_that_claims_a_place_behind_the_end_is_damage(is_sealed: bool, offset: int) -> None:
    """Its offset is not under its checksum. Who reads there would be given nothing, and wait for ever."""
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 4)
    first = log.active.log.path
    if is_sealed:
        log.roll(NOW_MS)
        fill(log, 2)
    drive(files, log.flush())
    content = files.disk.names[first].live
    position = next(at for at, header in iterate_headers(bytes(content)) if header.base_offset == offset)
    content[position + 6] ^= 1
    with pytest.raises(CorruptBatch, match=f"claims offset {offset + 256} in what ends at 4"):
        drive(files, read(log, offset, 1 << 20, log.written_offset, True))
    # Where something is being cut off, what was read may be gone.
    log.blocked = "the log is being truncated"
    assert drive(files, read(log, offset, 1 << 20, log.written_offset, True)) is None
