"""A data folder: its checkpoints in Kafka's formats, partitions that come and go, ten thousand of them at rest."""

from __future__ import annotations

import errno
import tracemalloc
from base64 import urlsafe_b64encode
from random import Random

import pytest

from penstock.core.base.ports import FileFailure, RenameDir
from penstock.core.base.steps import Tasks
from penstock.core.log.durable import SyncFailed
from penstock.core.log.lockstep import SINGLE_SYNCS_MAX
from penstock.core.log.log import Log
from penstock.core.log.partition_file import decode_topic_id, encode_topic_id
from tests.examples import scaled
from tests.log.helpers import (
    NOW_MS,
    SMALL,
    TOPIC_ID,
    append,
    batch_of,
    context_of,
    fill,
    load,
    new_log,
    records_of,
    remove,
    reopen,
)
from tests.log.memory_files import Crashed, MemoryFiles, drive


def test_checkpoints_have_kafkas_format() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", TOPIC_ID, 3, SMALL, NOW_MS))
    fill(log, 20)
    drive(files, log.delete_records(2))
    drive(files, log.flush())
    log.cleaned_offset = 7
    drive(files, directory.checkpoint(lambda: {("orders", 3): 19}))
    assert files.content("/data/recovery-point-offset-checkpoint") == b"0\n1\norders 3 20\n"
    assert files.content("/data/log-start-offset-checkpoint") == b"0\n1\norders 3 2\n"
    assert files.content("/data/cleaner-offset-checkpoint") == b"0\n1\norders 3 7\n"
    assert files.content("/data/replication-offset-checkpoint") == b"0\n1\norders 3 19\n"
    again = load(files)
    assert again.high_watermarks == {("orders", 3): 19}
    assert again.logs["orders", 3].cleaned_offset == 7
    before = files.operations
    drive(files, again.checkpoint())
    assert files.operations == before


def test_partition_metadata_has_kafkas_format() -> None:
    files = MemoryFiles()
    new_log(files)
    content = files.content("/data/orders-0/partition.metadata")
    assert content == b"version: 0\ntopic_id: " + urlsafe_b64encode(TOPIC_ID).rstrip(b"=")
    assert reopen(files).topic_id == TOPIC_ID


@pytest.mark.parametrize(
    "data", [None, b"", b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", b"version: 0\ntopic_id: A", b"\xff"]
)
def test_torn_partition_metadata_is_no_id(data: bytes | None) -> None:
    assert decode_topic_id(data) is None
    assert decode_topic_id(encode_topic_id(TOPIC_ID)) == TOPIC_ID


def test_a_removed_log_leaves_nothing() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS))
    fill(log, 40)
    remove(files, directory, log)
    assert files.paths() == []
    assert "/data/orders-0" not in files.disk.folders
    fresh = drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    append(fresh, batch_of(b"0."))
    assert [record.offset for record in records_of(files, fresh)] == [0]


def test_removing_waits_for_what_is_under_way() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS))
    files.delay = Random(3)
    fill(log, 40)
    remove(files, directory, log)
    assert not [path for path in files.paths() if "orders-0/" in path]


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_files_go_in_the_background_and_who_gets_their_name_waits(seed: int) -> None:
    files = MemoryFiles()
    directory = load(files)
    logs = [drive(files, directory.create("orders", TOPIC_ID, index, SMALL, NOW_MS)) for index in range(3)]
    for log in logs:
        fill(log, 20)
    files.delay = Random(seed)
    for log in logs:
        directory.discard(log)
    assert not directory.logs
    assert all(log.blocked == "the partition was deleted" for log in logs)
    again = drive(files, directory.create("orders", bytes(16), 1, SMALL, NOW_MS))
    fill(again, 30)
    files.finish_all()
    reopened = load(MemoryFiles(files.disk)).logs
    assert list(reopened) == [("orders", 1)]
    assert [record.offset for record in records_of(MemoryFiles(files.disk), reopened["orders", 1])] == list(range(30))


def test_what_cannot_be_removed_is_told_and_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles()
    directory = load(files)
    logs = [drive(files, directory.create("orders", TOPIC_ID, index, SMALL, NOW_MS)) for index in range(2)]
    rename = files._renamedir

    def fail_once(op: RenameDir) -> None:
        if op.path.endswith("orders-0"):
            raise FileFailure(errno.EIO, "the disk is gone")
        rename(op)

    monkeypatch.setattr(files, "_renamedir", fail_once)
    left: list[Log] = []
    directory.deferred_delete.on_left_behind = lambda log, failure: left.append(log)
    for log in logs:
        directory.discard(log)
    files.finish_all()
    assert left == logs[:1]
    assert not [path for path in files.paths() if "orders-1" in path]


def test_the_longest_name_can_be_removed_twice() -> None:
    """A file system takes 255 characters; and a replica may come back and leave again before its files are gone."""
    files = MemoryFiles()
    directory = load(files)
    files.delay = Random(1)
    for _ in range(3):
        directory.discard(drive(files, directory.create("t" * 249, TOPIC_ID, 99_999, SMALL, NOW_MS)))
    files.finish_all()
    renamed = [line for line in files.history if line.startswith("RenameDir")]
    assert len(renamed) == 3
    assert files.disk.folders == {"/", "/data"}
    assert files.longest_name <= 255


def test_a_process_may_die_at_any_operation_of_removing() -> None:
    count = 0
    while True:
        files = MemoryFiles()
        directory = load(files)
        log = drive(files, directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS))
        fill(log, 20)
        files.operations_left = count
        try:
            remove(files, directory, log)
            break
        except Crashed:
            files.operations_left = None
        survivors = load(MemoryFiles(files.disk)).logs
        if survivors:
            found = records_of(MemoryFiles(files.disk), survivors["orders", 0])
            assert [record.offset for record in found] == list(range(20))
        else:
            assert not files.paths()
        count += 1
    assert count > 8


def test_a_partition_at_rest_costs_little() -> None:
    context = context_of(MemoryFiles())
    count = 500
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        logs = [Log(f"topic-{n}", 0, f"/data/topic-{n}-0", SMALL, context, NOW_MS) for n in range(count)]
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(logs) == count
    assert used / count <= 3000


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_what_was_flushed_knows_its_topic_after_power_loss(seed: int) -> None:
    files = MemoryFiles()
    log = new_log(files)
    append(log, batch_of(b"0."))
    drive(files, log.flush())
    files.disk.lose_power(Random(seed))
    assert reopen(files).topic_id == TOPIC_ID


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_a_crash_before_the_flush_takes_no_topic_id_with_it(seed: int) -> None:
    """The process that made the log is gone when it is flushed for the first time."""
    files = MemoryFiles()
    append(new_log(files), batch_of(b"0."))
    again = MemoryFiles(files.disk)
    drive(again, load(again).logs["orders", 0].flush())
    files.disk.lose_power(Random(seed))
    assert reopen(files).topic_id == TOPIC_ID


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_owners_last_without_a_flush(seed: int) -> None:
    files = MemoryFiles(delay=Random(seed))
    directory = load(files)
    made = drive(files, directory.create_all("orders", TOPIC_ID, range(3), SMALL, NOW_MS))
    assert [log.partition for log in made] == [0, 1, 2]
    drive(files, directory.settle_owners())
    files.finish_all()
    files.disk.lose_power(Random(seed))
    survivors = load(MemoryFiles(files.disk)).logs
    assert {key: log.topic_id for key, log in survivors.items()} == {("orders", index): TOPIC_ID for index in range(3)}


@pytest.mark.parametrize("count", [3, 2 * SINGLE_SYNCS_MAX])
@pytest.mark.parametrize("seed", range(5))
def test_many_logs_close_for_good_together(count: int, seed: int) -> None:
    files = MemoryFiles(delay=Random(seed))
    directory = load(files)
    logs = drive(files, directory.create_all("orders", TOPIC_ID, range(count), SMALL, NOW_MS))
    for log in logs:
        fill(log, log.partition % 3)
    files.history.clear()
    drive(files, directory.close())
    one_by_one = [step for step in files.history if step.startswith("Sync ") and "orders-" in step]
    assert bool(one_by_one) == (count <= SINGLE_SYNCS_MAX)
    files.disk.lose_power(Random(seed))
    again = load(MemoryFiles(files.disk))
    assert again.was_clean
    assert {key[1]: log.end_offset for key, log in again.logs.items()} == {each: each % 3 for each in range(count)}
    assert {log.topic_id for log in again.logs.values()} == {TOPIC_ID}


def test_a_failed_sync_leaves_no_mark_of_a_clean_stop() -> None:
    files = MemoryFiles()
    directory = load(files)
    count = 2 * SINGLE_SYNCS_MAX
    for log in drive(files, directory.create_all("orders", TOPIC_ID, range(count), SMALL, NOW_MS)):
        fill(log, 1)
    files.sync_failure = FileFailure(errno.EIO, "input/output error")
    with pytest.raises(SyncFailed):
        drive(files, directory.close())
    assert {log.synced_offset for log in directory.logs.values()} == {0}
    assert not load(MemoryFiles(files.disk)).was_clean


def test_one_log_that_cannot_be_made_does_not_keep_others_from_it() -> None:
    files = MemoryFiles()
    directory = load(files)
    files.space_bytes = 2 * len(encode_topic_id(TOPIC_ID))
    made = drive(files, directory.create_all("orders", TOPIC_ID, range(3), SMALL, NOW_MS))
    assert [isinstance(each, FileFailure) for each in made] == [False, False, True]
    assert sorted(directory.logs) == [("orders", 0), ("orders", 1)]
    files.space_bytes = None
    drive(files, directory.create_all("orders", TOPIC_ID, [2], SMALL, NOW_MS))
    assert reopen(files).topic_id == load(MemoryFiles(files.disk)).logs["orders", 2].topic_id == TOPIC_ID


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_a_log_that_is_being_made_is_left_alone(seed: int) -> None:
    """On a slow disk the clock's own rounds come by before a new log has its owner's file."""
    files = MemoryFiles()
    directory = load(files)
    files.delay = Random(seed)
    tasks, made = Tasks(files), list[object]()
    tasks.run(directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS), made.append)
    while not made:
        tasks.run(directory.settle_owners())
        tasks.run(directory.checkpoint())
        files.finish_one()
    files.finish_all()
    (log,) = made
    assert isinstance(log, Log)
    assert log.failure is None
    drive(files, directory.settle_owners())
    files.disk.lose_power(Random(seed))
    assert reopen(files).topic_id == TOPIC_ID


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_checkpoints_at_once_do_not_take_each_other_s_files(seed: int) -> None:
    """A stop stores what the clock's own checkpoint may be storing at that moment."""
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", TOPIC_ID, 0, SMALL, NOW_MS))
    fill(log, 3)
    files.delay = Random(seed)
    outcomes: list[object] = []
    tasks = Tasks(files)
    tasks.run(log.flush())
    tasks.run(directory.checkpoint_ends(lambda: {("orders", 0): 1}), outcomes.append)
    tasks.run(directory.checkpoint_ends(lambda: {("orders", 0): 2}), outcomes.append)
    files.finish_all()
    assert outcomes == [None, None]
