"""Compaction against a dict: the latest record of each key stays, where it was; everything else may go."""

from __future__ import annotations

import errno
import itertools
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.ports import File, FileFailure, FileOp, Pause, Read, RunJob, Steps
from penstock.core.log import cleaner, compaction
from penstock.core.log.compaction import OffsetMap, map_single
from penstock.core.log.compaction_txns import TransactionFilter
from penstock.core.log.log import Log
from penstock.core.log.producers import Duplicate
from penstock.core.log.rewriting import Fields
from penstock.core.records.batch import BatchHeader, iterate_headers, read_header
from penstock.core.records.build import build_batch, rebuild
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.records.record import Record, iterate, read_body, spans_of
from tests.log.helpers import NOW_MS, Settings, append, batch_of, load, new_log, records_of, reopen
from tests.log.memory_files import Crashed, MemoryFiles, drive

COMPACT = Settings(
    segment_bytes=800, index_interval_bytes=150, cleanup_policy=frozenset({"compact"}), delete_retention_ms=1000
)
DAY_MS = 86_400_000


def clean(
    files: MemoryFiles, log: Log, now_ms: int = NOW_MS, keys_max: int = compaction.KEYS_MAX
) -> cleaner.Cleaned | None:
    done: cleaner.Cleaned | None = drive(files, log.clean(now_ms, log.end_offset, keys_max))
    check_shape(files, log)
    return done


def check_shape(files: MemoryFiles, log: Log) -> None:
    """Segments continue each other, and their files are as long as the log thinks."""
    for segment, after in zip(log.segments, log.segments[1:], strict=False):
        assert segment.end_offset == after.base_offset
        assert len(files.content(segment.log.path)) == segment.size_bytes
        headers = [header for _, header in iterate_headers(files.content(segment.log.path))]
        assert headers[-1].next_offset == after.base_offset
    names = [path.rpartition("/")[2] for path in files.paths()]
    assert not [name for name in names if name.endswith((".cleaned", ".swap"))]


def keys_and_offsets(records: list[Record]) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records]


def put(log: Log, key: bytes, value: bytes | None, **fields: Any) -> int:
    return append(log, batch_of(value, key=key, **fields))


def test_only_the_latest_of_each_key_stays() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    for number in range(60):
        put(log, b"key-%d" % (number % 3), b"%d" % number)
    log.roll(NOW_MS)
    size = log.size_bytes()
    done = clean(files, log)
    assert done is not None
    assert (done.end_offset, log.cleaned_offset) == (60, 60)
    assert keys_and_offsets(records_of(files, log)) == [(n, b"key-%d" % (n % 3), b"%d" % n) for n in (57, 58, 59)]
    assert log.size_bytes() < size / 5
    # A reader that stands at an offset that is gone goes on at the next one.
    assert records_of(files, log, 5)[0].offset == 57
    assert clean(files, log) is None


def test_the_active_segment_is_never_touched() -> None:
    files = MemoryFiles()
    log = new_log(files, replace(COMPACT, segment_bytes=1 << 20))
    for _ in range(20):
        put(log, b"k", b"v")
    assert clean(files, log) is None
    assert len(records_of(files, log)) == 20


def test_nothing_above_the_last_stable_offset_is_cleaned() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    for number in range(40):
        put(log, b"k", b"%d" % number)
    bound = log.segments[2].base_offset
    drive(files, log.clean(NOW_MS, bound + 1))
    assert log.cleaned_offset == bound
    assert [record.offset for record in records_of(files, log)] == [bound - 1, *range(bound, 40)]


def test_tombstones_stay_until_their_horizon() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    put(log, b"a", b"1")
    put(log, b"b", b"1")
    put(log, b"a", None)
    log.roll(NOW_MS)
    clean(files, log)
    assert keys_and_offsets(records_of(files, log)) == [(1, b"b", b"1"), (2, b"a", None)]
    headers = [header for _, header in iterate_headers(files.content(log.segments[0].log.path))]
    assert [header.delete_horizon for header in headers] == [None, NOW_MS + 1000]
    assert records_of(files, log)[1].timestamp == NOW_MS
    for now_ms, kept in ((NOW_MS + 999, True), (NOW_MS + 1000, False)):
        put(log, b"c", b"1")
        log.roll(NOW_MS)
        clean(files, log, now_ms)
        assert (2 in [record.offset for record in records_of(files, log)]) is kept


def test_records_without_a_key_have_no_place() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    append(log, batch_of(b"x", b"y"))
    put(log, b"k", b"v")
    log.roll(NOW_MS)
    clean(files, log)
    assert [record.offset for record in records_of(files, log)] == [2]


def test_a_full_map_leaves_the_rest_for_the_next_round() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    for number in range(40):
        put(log, b"key-%d" % (number % 20), b"%d" % number)
    log.roll(NOW_MS)
    ends = []
    while True:
        done = clean(files, log, keys_max=8)
        if done is None:
            break
        ends.append(done.end_offset)
        # Every key still has its latest record.
        latest = {record.key: record.value for record in records_of(files, log)}
        assert latest == {b"key-%d" % number: b"%d" % (20 + number) for number in range(20)}
    assert len(ends) > 3
    assert ends == sorted(set(ends))


def test_a_producer_goes_on_where_it_was() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    for number in range(30):
        put(log, b"k", b"v", producer_id=4, producer_epoch=1, base_sequence=number)
    for _ in range(30):
        put(log, b"k", b"v")
    log.roll(NOW_MS)
    clean(files, log)
    for path in [path for path in files.paths() if path.endswith(".snapshot")]:
        del files.disk.names[path]
    log = reopen(files, COMPACT)
    last = read_header(batch_of(b"v", key=b"k", producer_id=4, producer_epoch=1, base_sequence=29))
    for sequence in range(25, 30):
        again = last._replace(base_sequence=sequence)
        assert log.producers.check(again) == Duplicate(sequence, sequence, NOW_MS), "it may still be in flight"
    assert log.producers.check(last._replace(base_sequence=30)) is None
    # Once it is forgotten, the empty batch that kept its sequence goes as well.
    log.producers.expire(NOW_MS + DAY_MS, 1)
    put(log, b"k", b"v")
    log.roll(NOW_MS)
    clean(files, log)
    headers = [header for _, header in iterate_headers(files.content(log.segments[0].log.path))]
    assert [header.base_offset for header in headers] == [60]


def test_aborted_records_go_and_markers_follow() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    put(log, b"a", b"old")
    put(log, b"a", b"aborted", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    put(log, b"b", b"committed", producer_id=2, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, build_end_transaction(EndTransaction(False, 0), 1, 0, NOW_MS))
    append(log, build_end_transaction(EndTransaction(True, 0), 2, 0, NOW_MS))
    put(log, b"z", b"z")
    log.producers.expire(NOW_MS + DAY_MS, 1)
    log.roll(NOW_MS)
    clean(files, log)
    assert [record.offset for record in records_of(files, log)] == [0, 2, 3, 4, 5]
    assert [entry.first_offset for entry in drive(files, log.aborted_transactions(0, 6))] == [1]
    offsets = []
    for now_ms in (NOW_MS, NOW_MS + 1000, NOW_MS + 2000):
        put(log, b"z", b"z")
        log.roll(NOW_MS)
        clean(files, log, now_ms)
        offsets.append([record.offset for record in records_of(files, log)])
    # The abort marker has nothing left to mark from the second round on, and goes when its horizon is over.
    assert [3 in found for found in offsets] == [True, False, False]
    assert all(4 in found for found in offsets)
    assert drive(files, log.aborted_transactions(0, 9)) == []


def test_of_a_producer_that_has_only_markers_the_last_one_stays() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    put(log, b"a", b"committed", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, build_end_transaction(EndTransaction(True, 0), 1, 0, NOW_MS))
    append(log, build_end_transaction(EndTransaction(True, 0), 1, 1, NOW_MS))
    for now_ms in range(NOW_MS, NOW_MS + 10_000, 1_000):
        put(log, b"a", b"later")
        log.roll(NOW_MS)
        clean(files, log, now_ms)
    # Its epoch goes on from the marker at 2; the one at 1 is of an epoch that is over.
    headers = [header for _, header in iterate_headers(files.content(log.segments[0].log.path))]
    assert [header.base_offset for header in headers if header.producer_id == 1] == [2]


def test_small_segments_are_merged() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    for number in range(200):
        put(log, b"key-%d" % (number % 10), b"%d" % number)
    log.roll(NOW_MS)
    before = len(log.segments)
    clean(files, log)
    put(log, b"k", b"v")
    log.roll(NOW_MS)
    clean(files, log)
    assert len(log.segments) <= 5 < before
    assert {record.key: record.value for record in records_of(files, log)} == {
        b"k": b"v",
        **{b"key-%d" % number: b"%d" % (190 + number) for number in range(10)},
    }


def test_when_a_log_is_due() -> None:
    files = MemoryFiles()
    settings = replace(COMPACT, min_compaction_lag_ms=100, max_compaction_lag_ms=5000, min_cleanable_dirty_ratio=0.5)
    log = new_log(files, settings)

    def standing(now_ms: int) -> cleaner.Dirtiness:
        found: cleaner.Dirtiness = drive(files, log.dirtiness(now_ms, log.end_offset))
        return found

    assert not standing(NOW_MS).is_due
    put(log, b"k", b"x" * 300)
    log.roll(NOW_MS)
    assert not standing(NOW_MS + 99).is_due
    assert standing(NOW_MS + 100).is_due
    assert standing(NOW_MS + 100).ratio == 1.0
    drive(files, log.clean(NOW_MS + 100, log.end_offset))
    put(log, b"j", b"x" * 100)
    log.roll(NOW_MS)
    found = standing(NOW_MS + 100)
    assert 0 < found.ratio < 0.5
    assert not found.is_due
    assert not standing(NOW_MS + 5000).is_due
    assert standing(NOW_MS + 5001).is_due
    log.settings = replace(settings, cleanup_policy=frozenset({"delete"}))
    assert not standing(NOW_MS + 5001).is_due


def test_compact_and_delete_together() -> None:
    files = MemoryFiles()
    settings = replace(COMPACT, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=DAY_MS)
    log = new_log(files, settings)
    for number in range(60):
        put(log, b"key-%d" % (number % 3), b"%d" % number, timestamp=NOW_MS + number)
    log.roll(NOW_MS)
    clean(files, log)
    assert drive(files, log.retain(NOW_MS + DAY_MS)) == 0
    assert drive(files, log.retain(NOW_MS + DAY_MS + 60)) > 0
    assert records_of(files, log) == []
    assert log.end_offset == 60


@pytest.mark.slow
@pytest.mark.parametrize("power_loss", [False, True])
def test_a_process_may_die_at_any_operation_of_a_cleaning(power_loss: bool) -> None:
    for count in itertools.count():
        files = MemoryFiles()
        directory = load(files, COMPACT)
        log = drive(files, directory.create("orders", bytes(16), 0, COMPACT, NOW_MS))
        for number in range(60):
            put(log, b"key-%d" % (number % 3), b"%d" % number)
        log.roll(NOW_MS)
        drive(files, directory.checkpoint())
        files.operations_left = count
        try:
            drive(files, log.clean(NOW_MS, 60))
            break
        except Crashed:
            files.operations_left = None
        if power_loss:
            files.disk.lose_power(Random(count))
        again = reopen(files, COMPACT)
        assert again.end_offset == 60
        check_shape(files, again)
        found = records_of(MemoryFiles(files.disk), again)
        assert {record.key: record.value for record in found} == {b"key-%d" % (n % 3): b"%d" % n for n in (57, 58, 59)}
        assert [record.offset for record in found] == sorted({record.offset for record in found})
        put(again, b"key-0", b"new")
    assert count > 60


@pytest.mark.parametrize("is_clean", [False, True])
def test_what_has_a_wrong_checksum_is_neither_decided_by_nor_written_anew(is_clean: bool) -> None:
    """A batch that is written anew has a checksum that is right, and nobody would ever know."""
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    for value in (b"first", b"second"):
        append(log, build_batch([(b"k", value, (), NOW_MS), (value, value, (), NOW_MS)]))
        log.roll(NOW_MS)
        if is_clean and value == b"first":
            clean(files, log)
    damaged = files.disk.names[log.segments[0].log.path].live
    damaged[-1] ^= 1
    before = bytes(damaged)
    told: list[tuple[Log, str]] = []
    log.context = replace(log.context, on_corrupt=lambda log, error, offset: told.append((log, str(error))))
    for _ in range(2):
        assert clean(files, log) is None
    assert told == [(log, "corrupt batch at offset 0: its checksum is wrong")]
    assert files.content(log.segments[0].log.path) == before
    assert not drive(files, log.dirtiness(NOW_MS, log.end_offset)).is_due


def test_a_log_is_cleaned_again_once_what_is_damaged_was_cut_off() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    for _ in range(3):
        append(log, build_batch([(b"k", b"v", (), NOW_MS)]))
        log.roll(NOW_MS)
    files.disk.names[log.segments[1].log.path].live[-1] ^= 1
    assert clean(files, log) is None
    drive(files, log.truncate_to(1))
    for _ in range(2):
        append(log, build_batch([(b"k", b"v", (), NOW_MS)]))
        log.roll(NOW_MS)
    assert clean(files, log) is not None


@pytest.mark.parametrize("purges", [False, True])
def test_a_file_that_was_replaced_is_not_taken_for_the_one_replaced_before(purges: bool) -> None:
    """A slow reader may still hold what an earlier cleaning has set aside, closed, when the next one does the same."""
    files = MemoryFiles()
    log = new_log(files, replace(COMPACT, file_delete_delay_ms=500))
    held: list[tuple[File, bytes]] = []
    for number in range(3):
        if purges:
            drive(files, log.purge(NOW_MS + 10_000))
        for key in (b"k", b"other"):
            put(log, key, bytes(number + 1))
            log.roll(NOW_MS)
        first = log.segments[0].log
        held.append((first, files.content(first.path)))
        clean(files, log)
    removed = held[:-1] if purges else []
    for file, content in held:
        if (file, content) in removed:
            with pytest.raises(FileFailure):
                drive(files, one(Read(file, 0, len(content))))
        else:
            assert files.content(file.path) == content
    again = reopen(files, COMPACT)
    assert not [path for path in files.paths() if path.endswith(".deleted")]
    assert [record.value for record in records_of(files, again)] == [bytes(3), bytes(3)]


def one(op: FileOp) -> Steps[Any]:
    return (yield op)


def at_the_job(files: MemoryFiles, log: Log) -> tuple[Steps[Any], RunJob]:
    """Sixty records, and a cleaning of them that waits for its job."""
    for number in range(60):
        put(log, b"k", b"%d" % number)
    log.roll(NOW_MS)
    steps = log.clean(NOW_MS, 60)
    op: Any = next(steps)
    while not isinstance(op, RunJob):
        op = steps.send(files._do(op))
    return steps, op


@pytest.mark.parametrize("is_too_late", [False, True])
def test_of_a_log_that_has_gone_meanwhile_nothing_is_touched(is_too_late: bool) -> None:
    """Another log may have its folder's name by now, and be cleaned as well."""
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    steps, op = at_the_job(files, log)
    result = files._do(op)
    before = files.paths()
    assert [path for path in before if path.endswith(".cleaned")]
    log.is_gone = True
    late = FileFailure(errno.ENOENT, "no such file")
    assert drive(files, rest_of(steps, late if is_too_late else result)) is None
    assert files.paths() == before


def test_a_log_that_changed_meanwhile_is_left_as_it_is() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    steps, op = at_the_job(files, log)
    result = files._do(op)
    log.blocked = "closing"
    assert drive(files, rest_of(steps, result)) is None
    log.blocked = None
    check_shape(files, log)
    assert len(records_of(files, log)) == 60


def test_what_is_cut_while_it_is_cleaned_does_not_come_back() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    steps, op = at_the_job(files, log)
    kept = records_of(files, log)[:50]
    cut = log.truncate_to(50)
    assert isinstance(next(cut), Pause), "it would be overtaken by what the job makes of the uncut segment"
    assert drive(files, rest_of(steps, files._do(op))) is None
    drive(files, cut)
    assert (log.end_offset, log.cleaned_offset) == (50, None)
    assert records_of(files, log) == kept
    check_shape(files, log)


def test_the_end_is_cut_while_others_are_cleaned() -> None:
    """A follower whose leader has changed cannot wait for a job of minutes."""
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    steps, op = at_the_job(files, log)
    put(log, b"k", b"last")
    drive(files, log.truncate_to(60))
    assert drive(files, rest_of(steps, files._do(op))) is not None
    assert [record.offset for record in records_of(files, log)] == [59]


def rest_of(steps: Steps[Any], result: object) -> Steps[Any]:
    """Steps that were begun by hand, from the result of their last operation on, or from its failure."""
    while True:
        try:
            op = steps.throw(result) if isinstance(result, FileFailure) else steps.send(result)
        except StopIteration as stop:
            return stop.value
        try:
            result = yield op
        except FileFailure as failure:
            result = failure


KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
RECORDS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=40)), min_size=1, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), RECORDS, st.sampled_from([0, 1, 4])),
        st.tuples(st.just("clean"), st.integers(0, 2000)),
        st.tuples(st.just("reopen")),
    ),
    min_size=1,
    max_size=30,
)


@given(STEPS)
def test_against_a_dict(steps: list[tuple[Any, ...]]) -> None:
    files = MemoryFiles()
    log = new_log(files, replace(COMPACT, segment_bytes=300))
    appended: dict[int, tuple[bytes, bytes | None]] = {}
    now_ms = NOW_MS
    for step in steps:
        if step[0] == "append":
            batch = build_batch([(key, value, (), now_ms) for key, value in step[1]], codec=step[2])
            base = append(log, batch, now_ms=now_ms)
            appended.update({base + number: pair for number, pair in enumerate(step[1])})
        elif step[0] == "clean":
            now_ms += step[1]
            drive(files, log.clean(now_ms, log.end_offset))
            check_shape(files, log)
        else:
            cleaned_offset = log.cleaned_offset
            log = reopen(files, replace(COMPACT, segment_bytes=300))
            log.cleaned_offset = cleaned_offset
            files = MemoryFiles(files.disk)
            log.context = replace(log.context, files=files)
        check_against(appended, records_of(files, log), log)


def check_against(appended: dict[int, tuple[bytes, bytes | None]], found: list[Record], log: Log) -> None:
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets))
    for record in found:
        assert (record.key, record.value) == appended[record.offset]
    bound = log.cleaned_offset or 0
    latest = {appended[offset][0]: offset for offset in sorted(appended)}
    latest_clean = {appended[offset][0]: offset for offset in sorted(appended) if offset < bound}
    for offset, (key, value) in appended.items():
        if offset >= bound or (latest[key] == offset and value is not None):
            assert offset in offsets
        elif latest_clean[key] != offset:
            assert offset not in offsets


@given(
    st.none() | st.binary(max_size=10) | st.integers(8000, 8300).map(bytes),
    st.none() | st.binary(max_size=300),
    st.integers(0, 1 << 41),
    st.integers(0, 3),
)
def test_the_fast_way_through_one_record_agrees_with_the_slow_one(
    key: bytes | None, value: bytes | None, timestamp: int, delta: int
) -> None:
    batch = build_batch([(key, value, [("h", b"x")], timestamp)], base_offset=77)
    if delta:
        # What compaction leaves of a batch of several: one record that is not at its base.
        records = [(b"?", b"?", (), timestamp)] * delta + [(key, value, (), timestamp)]
        whole = build_batch(records, base_offset=77)
        header = read_header(whole)
        spans = list(spans_of(header, read_body(whole, 0, header)))
        batch = rebuild(header, read_body(whole, 0, header), spans[-1:])
    fast: OffsetMap = {}
    slow: OffsetMap = {}
    data, header = bytes(batch), read_header(batch)
    fields: Fields = tuple(header)
    map_single(fast, data, 0, fields)
    compaction._map_batch(slow, TransactionFilter(()), data, 0, BatchHeader._make(fields))
    assert fast == slow
    assert [record.key for record in iterate(batch)] == [key]
