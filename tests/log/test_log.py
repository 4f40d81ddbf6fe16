"""Appending, rolling, reading: offsets in, the same offsets out."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import LATER, Slice
from penstock.core.records.batch import iterate_headers, read_header
from tests.log.helpers import NOW_MS, SMALL, Settings, append, batch_of, fill, new_log, read_slice, records_of, reopen
from tests.log.memory_files import MemoryFiles, drive


def test_append_stamps_offset_and_epoch() -> None:
    files = MemoryFiles()
    log = new_log(files)
    assert append(log, batch_of(b"a", b"b"), epoch=3) == 0
    batch = batch_of(b"c")
    assert append(log, batch, epoch=3) == 2
    assert read_header(batch).base_offset == 2
    assert read_header(batch).leader_epoch == 3
    assert (log.end_offset, log.written_offset, log.synced_offset) == (3, 3, 0)
    assert [record.offset for record in records_of(files, log)] == [0, 1, 2]


def test_an_empty_log_has_no_file_but_its_metadata() -> None:
    files = MemoryFiles()
    new_log(files)
    assert files.paths() == ["/data/orders-0/partition.metadata"]


def test_rolls_by_size_and_reads_across_segments() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 40)
    assert len(log.segments) > 4
    for before, after in zip(log.segments, log.segments[1:], strict=False):
        assert before.end_offset == after.base_offset
        assert before.size_bytes <= SMALL.segment_bytes
    assert [record.offset for record in records_of(files, log)] == list(range(40))
    assert [record.offset for record in records_of(files, log, 17)] == list(range(17, 40))


def test_rolls_by_the_time_between_records() -> None:
    log = new_log(MemoryFiles(), Settings(segment_ms=1000))
    append(log, batch_of(b"a", timestamp=NOW_MS))
    append(log, batch_of(b"b", timestamp=NOW_MS + 1000))
    assert len(log.segments) == 1
    append(log, batch_of(b"c", timestamp=NOW_MS + 1001))
    assert len(log.segments) == 2


def test_rolls_by_the_clock_where_records_have_no_time() -> None:
    log = new_log(MemoryFiles(), Settings(segment_ms=1000))
    append(log, batch_of(b"a", timestamp=-1))
    append(log, batch_of(b"b", timestamp=-1), now_ms=NOW_MS + 1000)
    assert len(log.segments) == 1
    append(log, batch_of(b"c", timestamp=-1), now_ms=NOW_MS + 1001)
    assert len(log.segments) == 2


def test_rolls_when_an_index_is_full() -> None:
    log = new_log(MemoryFiles(), Settings(segment_index_bytes=36, index_interval_bytes=1))
    fill(log, 3)
    assert len(log.segments) == 1
    fill(log, 3)
    assert len(log.segments) > 1


def test_jitter_spreads_rolls_and_never_delays_them() -> None:
    settings = Settings(segment_ms=1000, segment_jitter_ms=900)
    rolled_at = set()
    for topic in ("a", "b", "c", "d"):
        log = new_log(MemoryFiles(), settings, topic)
        append(log, batch_of(b"0"))
        delta = 0
        while len(log.segments) == 1:
            delta += 50
            append(log, batch_of(b"x", timestamp=NOW_MS + delta))
        assert 100 <= delta <= 1050
        rolled_at.add(delta)
    assert len(rolled_at) > 1


def test_reading_outside_is_an_error_and_at_the_end_nothing() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 10)
    drive(files, log.delete_records(3))
    for offset in (-1, 2, 11):
        with pytest.raises(ApiError) as caught:
            drive(files, log.read(offset, 100, 10, True))
        assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
        with pytest.raises(ApiError):
            log.read_cached(offset, 100, 10, True)
    assert drive(files, log.read(10, 100, 10, True)) is None
    assert log.read_cached(10, 100, 10, True) is None


def test_a_slice_starts_at_the_batch_that_holds_the_offset() -> None:
    files = MemoryFiles()
    log = new_log(files)
    for _ in range(6):
        append(log, batch_of(b"a", b"b", b"c"))
    piece = drive(files, log.read(7, 1 << 20, 18, True))
    assert read_header(read_slice(files, piece)).base_offset == 6


def test_max_bytes_cuts_but_min_one_gives_a_whole_batch() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings())
    fill(log, 20)
    size = len(batch_of(b"0" + b"." * 100))
    assert drive(files, log.read(0, 10, 20, False)) is None
    assert log.read_cached(0, 10, 20, False) is None
    assert len(drive(files, log.read(0, 10, 20, True))) == size
    assert len(log.read_cached(0, 10, 20, True)) == size  # type: ignore[arg-type]  # it is a Slice
    assert len(drive(files, log.read(0, 2 * size + 5, 20, True))) == 2 * size + 5
    # Without touching the disk it ends at a batch, because that costs nothing.
    assert len(log.read_cached(0, 2 * size + 5, 20, True)) == 2 * size  # type: ignore[arg-type]  # it is a Slice


@pytest.mark.parametrize("cached", [True, False])
def test_readers_do_not_see_past_their_limit(cached: bool) -> None:
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=150))
    fill(log, 20)
    for limit in range(1, 21):
        piece = log.read_cached(0, 1 << 20, limit, True) if cached else drive(files, log.read(0, 1 << 20, limit, True))
        assert isinstance(piece, Slice)
        headers = [header for _, header in iterate_headers(read_slice(files, piece))]
        assert headers[-1].next_offset == limit


def test_cached_reads_agree_with_reads_from_disk() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=300))
    fill(log, 300)
    answered = 0
    for offset in range(300):
        for max_bytes in (1, 200, 1000, 1 << 20):
            piece = log.read_cached(offset, max_bytes, 290, True)
            if piece is LATER:
                continue
            other = drive(files, log.read(offset, max_bytes, 290, True))
            if piece is None:
                assert other is None
                continue
            assert isinstance(piece, Slice)
            assert (piece.file, piece.position) == (other.file, other.position)
            assert piece.length <= other.length
            answered += 1
    assert answered > 200


def test_held_appends_keep_their_order_when_files_are_slow() -> None:
    files = MemoryFiles()
    log = new_log(files)
    files.delay = Random(1)
    progress: list[int] = []
    log.on_progress = lambda: progress.append(log.written_offset)
    fill(log, 40)
    assert (log.written_offset, log.end_offset) == (0, 40)
    written_before = 0
    while files.finish_one():
        on_disk = sum(segment_offsets(files, log))
        assert on_disk >= written_before
        assert log.written_offset <= on_disk
        written_before = log.written_offset
    assert log.written_offset == 40
    assert progress == sorted(progress)
    files.delay = None
    assert [record.offset for record in records_of(files, log)] == list(range(40))
    assert [record.offset for record in records_of(files, reopen(files))] == list(range(40))


def test_readers_do_not_see_what_is_in_flight() -> None:
    files = MemoryFiles()
    log = new_log(files)
    files.delay = Random(1)
    fill(log, 20)
    assert len(log.segments) > 2
    while files.finish_one():
        for offset in range(log.written_offset):
            files.delay = None
            pieces = (
                drive(files, log.read(offset, 1 << 20, log.written_offset, True)),
                log.read_cached(offset, 1 << 20, log.written_offset, True),
            )
            for piece in pieces:
                if isinstance(piece, Slice):
                    assert len(read_slice(files, piece)) == piece.length
            files.delay = Random(1)


def segment_offsets(files: MemoryFiles, log: object) -> list[int]:
    return [sum(1 for _ in iterate_headers(files.content(path))) for path in files.paths() if path.endswith(".log")]
