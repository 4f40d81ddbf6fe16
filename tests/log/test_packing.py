"""Sealed segments packed: readers find the same records at the same offsets, in fewer bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.ports import FileFailure, RunJob, Slice, Steps
from penstock.core.log import packer, packing, rewriting
from penstock.core.log.log import Log
from penstock.core.log.names import PACKED_FILE
from penstock.core.log.packer import Packed
from penstock.core.log.packing import Packing
from penstock.core.log.producers import Duplicate
from penstock.core.records import checksum
from penstock.core.records.batch import BatchHeader, iterate_headers, read_header
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.records.record import iterate
from tests.log.helpers import NOW_MS, Settings, append, batch_of, load, new_log, read_slice, records_of, reopen
from tests.log.memory_files import Crashed, MemoryFiles, drive

SEGMENT_BYTES = 2000
PLAIN = Settings(segment_bytes=SEGMENT_BYTES, index_interval_bytes=150)
PACK = replace(PLAIN, sealed_compression_type="zstd")
MARK = f"/data/orders-0/{PACKED_FILE}"
FIRST_LOG = f"/data/orders-0/{0:020d}.log"


def put(log: Log, value: bytes = b"value " * 40, count: int = 3, **fields: Any) -> int:
    """A batch that compresses well."""
    return append(log, batch_of(*[value] * count, timestamp=NOW_MS + log.end_offset, **fields))


def filled(files: MemoryFiles, settings: Settings = PACK, batches: int = 12) -> Log:
    log = new_log(files, settings)
    for _ in range(batches):
        put(log)
    log.roll(NOW_MS)
    return log


def pack_all(files: MemoryFiles, log: Log, upto_offset: int | None = None) -> list[Packed]:
    done = []
    while packed := drive(files, log.pack_next(NOW_MS, log.end_offset if upto_offset is None else upto_offset)):
        done.append(packed)
        check_shape(files, log)
    check_shape(files, log)
    return done


def check_shape(files: MemoryFiles, log: Log) -> None:
    """Segments continue each other, their files are as the log thinks, and their batches say what they are."""
    for segment, after in zip(log.segments, log.segments[1:], strict=False):
        data = files.content(segment.log.path)
        assert len(data) == segment.size_bytes
        found = list(iterate_headers(data))
        assert all(checksum.is_valid(data, position, header) for position, header in found)
        assert found[-1][1].next_offset == segment.end_offset == after.base_offset
    assert not [path for path in files.paths() if path.endswith((".cleaned", ".swap", ".tmp"))]


def next_process(files: MemoryFiles) -> tuple[MemoryFiles, Log]:
    """What it finds, and has made sure of: only what is synced is packed."""
    log = reopen(files, PACK)
    files = MemoryFiles(files.disk)
    log.context = replace(log.context, files=files)
    drive(files, log.flush())
    return files, log


def headers_of(files: MemoryFiles, log: Log) -> list[BatchHeader]:
    return [header for s in log.segments[:-1] for _, header in iterate_headers(files.content(s.log.path))]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_only_the_size_of_a_batch_changes(codec: str) -> None:
    files = MemoryFiles()
    log = filled(files, replace(PACK, sealed_compression_type=codec))
    before, records, bases = headers_of(files, log), records_of(files, log), [s.base_offset for s in log.segments]
    sizes = [segment.size_bytes for segment in log.segments[:-1]]
    done = pack_all(files, log)
    assert [packed.bytes_before for packed in done] == sizes
    assert [packed.bytes_after for packed in done] == [segment.size_bytes for segment in log.segments[:-1]]
    assert log.size_bytes() < sum(sizes) / 3
    assert [segment.base_offset for segment in log.segments] == bases
    assert records_of(files, log) == records
    after = headers_of(files, log)
    assert {header.codec for header in after} == {Codec[codec.upper()]}
    assert [header._replace(length=0, crc=0, attributes=header.attributes & ~7) for header in after] == [
        header._replace(length=0, crc=0) for header in before
    ]


def test_every_offset_and_every_time_is_found_where_it_was() -> None:
    files = MemoryFiles()
    log = filled(files, batches=40)
    times = [drive(files, log.offset_for_time(NOW_MS + number)) for number in range(120)]
    newest = drive(files, log.max_timestamp())
    pack_all(files, log)
    for again in (log, reopen(files, PACK)):
        for offset in range(again.end_offset):
            assert records_of(MemoryFiles(files.disk), again, offset)[0].offset == offset
        assert [drive(files, again.offset_for_time(NOW_MS + number)) for number in range(120)] == times
        assert drive(files, again.max_timestamp()) == newest


def test_what_is_compressed_or_control_or_grows_is_copied_as_it_is() -> None:
    files = MemoryFiles()
    log = new_log(files, replace(PACK, segment_bytes=1 << 20))
    put(log, codec=Codec.GZIP)
    append(log, batch_of(Random(1).randbytes(50)))
    put(log, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, build_end_transaction(EndTransaction(False, 0), 7, 0, NOW_MS))
    log.roll(NOW_MS)
    old = files.content(FIRST_LOG)
    pack_all(files, log)
    new = files.content(FIRST_LOG)
    before, after = list(iterate_headers(old)), list(iterate_headers(new))
    assert [header.codec for _, header in after] == [Codec.GZIP, Codec.NONE, Codec.ZSTD, Codec.NONE]
    for (was, header), (now, _) in [pair for number, pair in enumerate(zip(before, after, strict=True)) if number != 2]:
        assert old[was : was + header.size] == new[now : now + header.size]


def test_transactions_and_producers_are_what_they_were() -> None:
    files = MemoryFiles()
    log = new_log(files, PACK)
    for number in range(20):
        put(log, producer_id=4, producer_epoch=1, base_sequence=3 * number)
        put(log, producer_id=9, producer_epoch=0, base_sequence=3 * number, transactional=True)
        append(log, build_end_transaction(EndTransaction(number % 2 == 0, 0), 9, 0, NOW_MS))
    log.roll(NOW_MS)
    aborted = drive(files, log.aborted_transactions(0, log.end_offset))
    assert len(aborted) == 10
    snapshots = {path: files.content(path) for path in files.paths() if path.endswith(".snapshot")}
    pack_all(files, log)
    assert {path: files.content(path) for path in files.paths() if path.endswith(".snapshot")} == snapshots
    for path in snapshots:
        del files.disk.names[path]
    again = reopen(files, PACK)
    for found in (log, again):
        assert drive(files, found.aborted_transactions(0, found.end_offset)) == aborted
        last = read_header(batch_of(b"1", b"2", b"3", producer_id=4, producer_epoch=1, base_sequence=57))
        duplicate = found.producers.check(last)
        assert isinstance(duplicate, Duplicate)
        assert found.producers.check(last._replace(base_sequence=60)) is None


def test_a_damaged_batch_does_not_get_a_good_checksum() -> None:
    files = MemoryFiles()
    log = filled(files)
    inode = files.disk.names[FIRST_LOG]
    inode.live[100] ^= 1
    drive(files, log.pack_next(NOW_MS, log.end_offset))
    data = files.content(FIRST_LOG)
    found = [(checksum.is_valid(data, position, header), header.codec) for position, header in iterate_headers(data)]
    assert found[0] == (False, Codec.NONE)
    assert set(found[1:]) == {(True, Codec.ZSTD)}


def test_a_segment_that_is_no_row_of_batches_is_left_alone() -> None:
    files = MemoryFiles()
    log = filled(files)
    size = read_header(files.content(FIRST_LOG)).size
    files.disk.names[FIRST_LOG].live[size + 16] = 9
    damaged = files.content(FIRST_LOG)
    first, *others = pack_all_but_look(files, log)
    assert first.bytes_before == first.bytes_after
    assert all(packed.bytes_after < packed.bytes_before for packed in others)
    assert files.content(FIRST_LOG) == damaged
    assert not [path for path in files.paths() if path.endswith(".cleaned")]


def pack_all_but_look(files: MemoryFiles, log: Log) -> list[Packed]:
    done = []
    while packed := drive(files, log.pack_next(NOW_MS, log.end_offset)):
        done.append(packed)
    return done


def test_what_may_still_be_taken_back_is_not_touched() -> None:
    files = MemoryFiles()
    log = filled(files, batches=10)
    ends = [segment.end_offset for segment in log.segments[:-1]]
    assert len(ends) > 3
    assert pack_all(files, log, upto_offset=ends[1] - 1)[-1].end_offset == ends[0]
    log.synced_offset = ends[1]
    assert pack_all(files, log)[-1].end_offset == ends[1]
    log.synced_offset = log.end_offset
    assert pack_all(files, log)[-1].end_offset == ends[-1]
    # The active segment waits until it is sealed.
    put(log)
    assert pack_all(files, log) == []
    log.roll(NOW_MS)
    assert len(pack_all(files, log)) == 1


@pytest.mark.parametrize(
    "settings", [PLAIN, replace(PACK, cleanup_policy=frozenset({"compact"}))], ids=["none", "compact"]
)
def test_who_does_not_ask_is_left_alone(settings: Settings) -> None:
    files = MemoryFiles()
    log = filled(files, settings)
    assert not packer.is_wanted(log)
    assert pack_all(files, log) == []
    # It may be asked for later, and then holds for what is there already.
    log.settings = PACK
    assert packer.is_wanted(log)
    assert len(pack_all(files, log)) == len(log.segments) - 1


def test_a_done_segment_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles()
    log = filled(files)
    done = pack_all(files, log)
    files, again = next_process(files)
    assert again.packed_offset == log.packed_offset == done[-1].end_offset
    monkeypatch.setattr(rewriting, "read_batches", None)
    monkeypatch.setattr(packing, "read_batches", None)
    assert pack_all(files, again) == []


@pytest.mark.parametrize("mark", [None, b"", b"0\n1\nnothing\n", b"0\n1\n99999\n"])
def test_a_lost_mark_costs_only_a_look(mark: bytes | None) -> None:
    files = MemoryFiles()
    log = filled(files)
    # One batch does not shrink, so that even a second look has to try.
    append(log, batch_of(Random(1).randbytes(50)))
    log.roll(NOW_MS)
    pack_all(files, log)
    contents = {path: files.content(path) for path in files.paths() if path.endswith(".log")}
    if mark is None:
        del files.disk.names[MARK]
    else:
        files.disk.names[MARK].live[:] = mark
    files, again = next_process(files)
    done = pack_all(files, again)
    assert len(done) == len(again.segments) - 1
    assert all(packed.bytes_before == packed.bytes_after for packed in done)
    assert {path: files.content(path) for path in files.paths() if path.endswith(".log")} == contents
    assert reopen(files, PACK).packed_offset == done[-1].end_offset


def test_retention_counts_what_is_left() -> None:
    files = MemoryFiles()
    log = filled(files, batches=40)
    size = log.size_bytes()
    pack_all(files, log)
    log.settings = replace(PACK, retention_bytes=size // 2)
    assert drive(files, log.retain(NOW_MS)) == 0
    log.settings = replace(PACK, retention_bytes=log.size_bytes() // 2)
    assert drive(files, log.retain(NOW_MS)) > 0
    assert records_of(files, log)[-1].offset == 119


def test_a_reader_keeps_the_file_it_was_given() -> None:
    files = MemoryFiles()
    log = filled(files)
    held: Slice = drive(files, log.read(0, 1 << 20, log.end_offset, True))
    before = read_slice(files, held)
    pack_all(files, log)
    assert read_slice(files, held) == before
    drive(files, log.purge(NOW_MS + PACK.file_delete_delay_ms))
    assert not [path for path in files.paths() if path.endswith(".deleted")]
    assert records_of(files, log)[0].offset == 0


def test_a_truncated_log_goes_on() -> None:
    files = MemoryFiles()
    log = filled(files, batches=20)
    records = records_of(files, log)
    pack_all(files, log)
    cut = log.segments[2].base_offset + 3
    drive(files, log.truncate_to(cut))
    assert log.end_offset == cut
    assert log.packed_offset > cut
    assert records_of(files, log) == records[:cut]
    for _ in range(20):
        put(log, b"other " * 40)
    log.roll(NOW_MS)
    pack_all(files, log)
    assert [record.offset for record in records_of(files, log)] == list(range(cut + 60))


def test_a_batch_larger_than_a_read() -> None:
    files = MemoryFiles()
    log = new_log(files, replace(PACK, segment_bytes=10 << 20))
    put(log, b"x" * (rewriting.READ_BYTES + 1), count=1)
    put(log)
    log.roll(NOW_MS)
    records = records_of(files, log)
    (packed,) = pack_all(files, log)
    assert packed.bytes_after < 10_000
    assert records_of(files, log) == records


@pytest.mark.slow
@pytest.mark.parametrize("power_loss", [False, True])
def test_a_process_may_die_at_any_operation_of_a_packing(power_loss: bool) -> None:
    count = 0
    while True:
        files = MemoryFiles()
        directory = load(files, PACK)
        log = drive(files, directory.create("orders", bytes(16), 0, PACK, NOW_MS))
        for number in range(6):
            put(log, producer_id=3, producer_epoch=0, base_sequence=3 * number)
        log.roll(NOW_MS)
        drive(files, directory.checkpoint())
        records = records_of(files, log)
        files.operations_left = count
        try:
            while drive(files, log.pack_next(NOW_MS, log.end_offset)):
                pass
            break
        except Crashed:
            files.operations_left = None
        if power_loss:
            files.disk.lose_power(Random(count))
        files, again = next_process(files)
        assert records_of(files, again) == records
        check_shape(files, again)
        pack_all(files, again)
        assert {header.codec for header in headers_of(files, again)} == {Codec.ZSTD}
        assert records_of(files, again) == records
        put(again, producer_id=3, producer_epoch=0, base_sequence=18)
        count += 1
    assert count > 40


def around_job(steps: Steps[Any], event: Callable[[], object], is_before: bool) -> Steps[Any]:
    """Steps in which something happens just before or just after their job."""
    try:
        op = next(steps)
        while True:
            is_job = isinstance(op, RunJob)
            if is_job and is_before:
                event()
            try:
                result = yield op
            except FileFailure as failure:
                op = steps.throw(failure)
                continue
            if is_job and not is_before:
                event()
            op = steps.send(result)
    except StopIteration as stop:
        return stop.value


def test_a_log_that_changed_meanwhile_is_left_as_it_is() -> None:
    files = MemoryFiles()
    log = filled(files)
    records = records_of(files, log)

    def event() -> None:
        assert drive(files, log.pack_next(NOW_MS, log.end_offset)) is None
        assert drive(files, log.clean(NOW_MS, log.end_offset)) is None
        log.blocked = "closing"

    assert drive(files, around_job(log.pack_next(NOW_MS, log.end_offset), event, is_before=False)) is None
    log.blocked = None
    assert log.packed_offset == 0
    assert records_of(files, log) == records
    check_shape(files, log)
    assert len(pack_all(files, log)) == len(log.segments) - 1


@pytest.mark.parametrize("is_before", [True, False])
def test_retention_takes_a_segment_that_is_being_packed(is_before: bool) -> None:
    files = MemoryFiles()
    log = filled(files)

    def event() -> None:
        log.settings = replace(PACK, retention_bytes=SEGMENT_BYTES)
        assert drive(files, log.retain(NOW_MS)) > 0

    assert drive(files, around_job(log.pack_next(NOW_MS, log.end_offset), event, is_before)) is None
    assert log.failure is None
    check_shape(files, log)
    assert len(pack_all(files, log)) == len(log.segments) - 1


def test_nothing_stays_of_a_packing_that_the_disk_had_no_room_for() -> None:
    files = MemoryFiles()
    log = filled(files)
    records = records_of(files, log)
    files.space_bytes = 100
    with pytest.raises(FileFailure):
        drive(files, log.pack_next(NOW_MS, log.end_offset))
    assert not [path for path in files.paths() if path.endswith(".cleaned")]
    assert (log.failure, log.packed_offset) == (None, 0)
    files.space_bytes = None
    pack_all(files, log)
    assert records_of(files, log) == records


def test_compaction_packs_what_it_keeps() -> None:
    files = MemoryFiles()
    settings = replace(PACK, cleanup_policy=frozenset({"compact"}))
    log = new_log(files, settings)
    for number in range(40):
        put(log, key=b"key-%d" % (number % 5))
    log.roll(NOW_MS)
    for _ in range(2):
        assert drive(files, log.clean(NOW_MS + 1000, log.end_offset)) is not None
        check_shape(files, log)
        latest = records_of(files, log)
        assert {record.key for record in latest} == {b"key-%d" % number for number in range(5)}
        # What says only where a segment ends has nothing in it to compress.
        assert {header.codec for header in headers_of(files, log) if header.count} == {Codec.ZSTD}
        put(log, key=b"key-0")
        log.roll(NOW_MS)


VALUES = st.lists(st.none() | st.binary(max_size=60) | st.integers(0, 500).map(bytes), min_size=1, max_size=5)


@given(VALUES, st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]), st.integers(0, 1 << 41))
def test_a_packed_batch_is_the_same_batch(values: list[bytes | None], codec: Codec, timestamp: int) -> None:
    batch = build_batch(
        [(b"key", value, [("header", value)], timestamp) for value in values],
        base_offset=77,
        leader_epoch=5,
        producer_id=9,
        producer_epoch=2,
        base_sequence=11,
        transactional=True,
    )
    packed = packing.pack(batch, Packing(codec, None))
    header, packed_header = read_header(batch), read_header(packed)
    assert len(packed) <= len(batch)
    assert list(iterate(packed)) == list(iterate(batch))
    assert checksum.is_valid(packed, 0, packed_header)
    assert packed_header.codec in (Codec.NONE, codec)
    assert packed_header._replace(length=0, crc=0, attributes=header.attributes) == header._replace(length=0, crc=0)
    assert packing.pack(packed, Packing(codec, None)) == packed
    assert packing.pack(batch, Packing()) is batch
