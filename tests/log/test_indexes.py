"""The sparse indexes against a naive scan of the file, and their bytes against Kafka's rules."""

from __future__ import annotations

import struct
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.ports import FileFailure
from penstock.core.log.index_file import IndexCache
from penstock.core.log.log import Log
from penstock.core.log.offset_index import OffsetIndex
from penstock.core.log.reader import locate
from penstock.core.log.reindex import reindex
from penstock.core.log.time_index import TimeIndex
from penstock.core.records.batch import iterate_headers, read_header
from penstock.core.records.build import build_batch
from penstock.core.records.record import iterate
from tests.log.helpers import NOW_MS, Settings, append, batch_of, fill, load, new_log, read_slice, records_of, reopen
from tests.log.memory_files import MemoryFiles, drive

FOLDER = "/data/orders-0"


def index_content(index: OffsetIndex | TimeIndex, files: MemoryFiles) -> bytes:
    stored = files.content(index.file.path) if index.stored_bytes else b""
    return stored + bytes(index.pending)


def expected_indexes(data: bytes, base_offset: int, interval: int, sealed: bool) -> tuple[bytes, bytes]:
    """What Kafka's LogSegment would have written for these batches."""
    offsets, times = b"", b""
    since, best, best_offset, last_time = 0, -1, base_offset, -1
    for position, header in iterate_headers(data):
        if header.max_timestamp > best:
            best, best_offset = header.max_timestamp, header.last_offset
        if since > interval:
            offsets += struct.pack(">ii", header.last_offset - base_offset, position)
            if best > last_time:
                times += struct.pack(">qi", best, best_offset - base_offset)
                last_time = best
            since = 0
        since += header.size
    if sealed and best > last_time:
        times += struct.pack(">qi", best, best_offset - base_offset)
    return offsets, times


def random_log(chance: Random, files: MemoryFiles, settings: Settings) -> Log:
    log = new_log(files, settings)
    for _ in range(60):
        values = [bytes(chance.randint(0, 120)) for _ in range(chance.randint(1, 4))]
        append(log, batch_of(*values, timestamp=NOW_MS + chance.randint(-500, 500)))
    return log


@pytest.mark.parametrize("seed", range(8))
def test_index_bytes_are_kafkas(seed: int) -> None:
    files = MemoryFiles()
    log = random_log(Random(seed), files, Settings(segment_bytes=4000, index_interval_bytes=300))
    for segment in log.segments:
        data = files.content(segment.log.path)
        offsets, times = expected_indexes(data, segment.base_offset, 300, segment.sealed)
        assert index_content(segment.offsets, files) == offsets
        assert index_content(segment.times, files) == times
        if segment.sealed:
            before = files.content(segment.offsets.file.path), files.content(segment.times.file.path)
            drive(files, reindex(segment, 300))
            assert (files.content(segment.offsets.file.path), files.content(segment.times.file.path)) == before


def test_index_bytes_are_kafkas_after_a_crash() -> None:
    files, settings = MemoryFiles(), Settings(segment_bytes=4000, index_interval_bytes=300)
    log = new_log(files, settings)
    for number in range(60):
        append(log, batch_of(bytes(100), timestamp=NOW_MS + number))
    log = reopen(files, settings)
    assert [segment.sealed for segment in log.segments] == [True, True, False]
    for segment in log.segments:
        data = files.content(segment.log.path)
        offsets, times = expected_indexes(data, segment.base_offset, 300, segment.sealed)
        assert index_content(segment.offsets, files) == offsets
        assert index_content(segment.times, files) == times


def test_entries_that_wait_are_replaced_with_the_others() -> None:
    files = MemoryFiles()
    index = OffsetIndex("/0.index", 0, IndexCache())
    index.append(4, 100)
    drive(files, index.replace(struct.pack(">ii", 9, 900)))
    drive(files, index.spill())
    assert files.content("/0.index") == struct.pack(">ii", 9, 900)


def test_a_torn_entry_is_cut_off_and_those_before_it_stay() -> None:
    files = MemoryFiles()
    index = OffsetIndex("/0.index", 0, IndexCache())
    index.append(4, 100)
    drive(files, index.spill())
    index.append(9, 900)
    files.space_bytes = 3
    with pytest.raises(FileFailure):
        drive(files, index.spill())
    files.space_bytes = None
    drive(files, index.spill())
    assert files.content("/0.index") == struct.pack(">iiii", 4, 100, 9, 900)


@pytest.mark.parametrize("seed", range(4))
def test_every_offset_is_found_where_a_scan_finds_it(seed: int) -> None:
    files = MemoryFiles()
    log = random_log(Random(seed), files, Settings(segment_bytes=5000, index_interval_bytes=200))
    for segment in log.segments:
        for position, header in iterate_headers(files.content(segment.log.path)):
            for offset in range(header.base_offset, header.next_offset):
                located = drive(files, locate(log, segment, offset))
                assert (located.position, located.header) == (position, header)


@pytest.mark.parametrize("seed", range(4))
def test_every_time_is_found_where_a_scan_finds_it(seed: int) -> None:
    files = MemoryFiles()
    log = random_log(Random(seed), files, Settings(segment_bytes=3000, index_interval_bytes=200))
    drive(files, log.delete_records(13))
    records = [record for record in records_of(files, log) if record.offset >= 13]
    for target in range(NOW_MS - 505, NOW_MS + 505, 7):
        expected = next(((r.timestamp, r.offset, 0) for r in records if r.timestamp >= target), None)
        assert drive(files, log.offset_for_time(target)) == expected
    latest = max(records, key=lambda record: record.timestamp)
    found = drive(files, log.max_timestamp())
    assert found[0] == latest.timestamp


def test_time_lookup_works_after_a_restart() -> None:
    files = MemoryFiles()
    directory = load(files)
    settings = Settings(segment_bytes=3000, index_interval_bytes=200)
    log = drive(files, directory.create("orders", bytes(16), 0, settings, NOW_MS))
    fill(log, 60)
    drive(files, directory.close())
    log = load(files, settings).logs["orders", 0]
    for offset in range(60):
        assert drive(files, log.offset_for_time(NOW_MS + offset)) == (NOW_MS + offset, offset, 0)
    assert drive(files, log.offset_for_time(NOW_MS + 60)) is None
    assert drive(files, log.max_timestamp()) == (NOW_MS + 59, 59, 0)


def test_logs_without_records_have_no_times() -> None:
    files = MemoryFiles()
    log = new_log(files)
    assert drive(files, log.offset_for_time(0)) is None
    assert drive(files, log.max_timestamp()) is None


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(0, 60), st.data())
def test_lookup_and_truncate_against_a_list(gaps: list[int], spilled: int, data: st.DataObject) -> None:
    files = MemoryFiles()
    files.disk.folders.add("/x")
    index = OffsetIndex("/x/0.index", 1000, IndexCache())
    entries, offset = [], 1000
    for number, gap in enumerate(gaps):
        offset += gap
        entries.append((offset, number * 100))
        index.append(offset, number * 100)
        if number == spilled:
            drive(files, index.spill())
    target = data.draw(st.integers(990, offset + 10))
    assert drive(files, index.lookup(target)) == max((p for o, p in entries if o <= target), default=0)
    cut = data.draw(st.integers(1000, offset + 10))
    drive(files, index.truncate(cut))
    entries = [(o, p) for o, p in entries if o < cut]
    assert index.size_bytes == 8 * len(entries)
    for target in range(1000, offset + 2):
        assert drive(files, index.lookup(target)) == max((p for o, p in entries if o <= target), default=0)


def test_long_indexes_go_to_disk_in_bunches_and_the_cache_is_bounded() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=1))
    fill(log, 5000, size=1)
    active = log.active
    assert active.offsets.stored_bytes > 0
    assert len(active.offsets.pending) < 17_000
    for offset in range(0, 5000, 97):
        piece = drive(files, log.read(offset, 1, 5000, True))
        assert read_header(read_slice(files, piece)).base_offset == offset
    cache = log.context.index_cache
    assert 0 < cache.size_bytes <= active.offsets.stored_bytes + active.times.stored_bytes
    small = IndexCache(bytes_max=100)
    index = OffsetIndex("/x", 0, small)
    small.put(index, bytes(80))
    other = OffsetIndex("/y", 0, small)
    small.put(other, bytes(80))
    assert (small.get(index), len(small.get(other)), small.size_bytes) == (b"", 80, 80)


def test_compressed_batches_are_searched_by_record() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings())
    batch = build_batch([(None, b"v", (), NOW_MS + number * 10) for number in range(10)], codec=1)
    append(log, batch)
    assert drive(files, log.offset_for_time(NOW_MS + 31)) == (NOW_MS + 40, 4, 0)
    assert [record.timestamp for record in iterate(batch)][4] == NOW_MS + 40
