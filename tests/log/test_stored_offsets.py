"""What is stored of a log holds for that log only, and for no more of it than there is."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.core.base.steps import Tasks
from penstock.core.log.checkpoints import Offsets
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from tests.examples import scaled
from tests.log.helpers import NOW_MS, SMALL, TOPIC_ID, append, batch_of, fill, load, records_of, remove
from tests.log.memory_files import MemoryFiles, drive

KEY = "orders", 0
POINTS = "/data/recovery-point-offset-checkpoint"
CLEANED = "/data/cleaner-offset-checkpoint"
COMPACT = replace(SMALL, cleanup_policy=frozenset({"compact"}), delete_retention_ms=1000)


def created(files: MemoryFiles, directory: LogDirectory, topic_id: bytes = TOPIC_ID) -> Log:
    log: Log = drive(files, directory.create("orders", topic_id, 0, SMALL, NOW_MS))
    return log


def flushed(files: MemoryFiles, count: int) -> tuple[LogDirectory, Log]:
    """A log with its recovery point stored."""
    directory = load(files)
    log = created(files, directory)
    fill(log, count)
    drive(files, log.flush())
    drive(files, directory.checkpoint())
    return directory, log


def stored(files: MemoryFiles, count: int) -> tuple[LogDirectory, Log]:
    """A log of which everything is stored that can be."""
    directory, log = flushed(files, count)
    drive(files, log.delete_records(count - 5))
    log.cleaned_offset = count - 5
    drive(files, directory.checkpoint(lambda: {KEY: count}))
    return directory, log


def test_a_log_that_is_created_again_begins_with_nothing() -> None:
    files = MemoryFiles()
    directory, log = stored(files, 20)
    remove(files, directory, log)
    again = created(files, directory, bytes(16))
    fill(again, 18)
    found = load(MemoryFiles(files.disk))
    reopened = found.logs[KEY]
    assert (reopened.start_offset, reopened.synced_offset, reopened.end_offset) == (0, 0, 18)
    assert reopened.cleaned_offset is None
    assert found.high_watermarks == {}
    assert [record.offset for record in records_of(files, reopened)] == list(range(18))


def test_what_is_stored_of_others_stays() -> None:
    files = MemoryFiles()
    directory, log = stored(files, 20)
    other = drive(files, directory.create("payments", bytes(16), 0, SMALL, NOW_MS))
    fill(other, 3)
    drive(files, other.flush())
    drive(files, directory.checkpoint(lambda: {KEY: 20, ("payments", 0): 2}))
    remove(files, directory, log)
    created(files, directory, bytes(16))
    assert files.content(POINTS) == b"0\n1\npayments 0 3\n"
    assert load(MemoryFiles(files.disk)).high_watermarks == {("payments", 0): 2}


def test_many_that_are_created_again_cost_one_write() -> None:
    files = MemoryFiles()
    directory = load(files)
    logs = drive(files, directory.create_all("orders", TOPIC_ID, range(100), SMALL, NOW_MS))
    drive(files, directory.checkpoint())
    for log in logs:
        remove(files, directory, log)
    before = len(files.history)
    drive(files, directory.create_all("orders", bytes(16), range(100), SMALL, NOW_MS))
    assert sum(POINTS in line and "rename" in line.lower() for line in files.history[before:]) == 1


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_a_checkpoint_that_is_under_way_stores_nothing_of_a_log_that_goes(seed: int) -> None:
    files = MemoryFiles()
    directory, log = stored(files, 6)
    marks = iter(range(7, 100))

    def marked() -> Offsets:
        if directory.logs.get(KEY) is not log:
            return {}
        log.cleaned_offset = next(marks)
        return {KEY: log.cleaned_offset}

    files.delay = Random(seed)
    tasks = Tasks(files)
    for _ in range(3):
        tasks.run(directory.checkpoint(marked))
    directory.discard(log)
    again = created(files, directory, bytes(16))
    files.finish_all()
    files.delay = None
    fill(again, 30)
    found = load(MemoryFiles(files.disk))
    reopened = found.logs[KEY]
    assert (reopened.start_offset, reopened.synced_offset, reopened.cleaned_offset) == (0, 0, None)
    assert found.high_watermarks == {}


def test_what_replaces_a_lost_end_is_looked_at_again() -> None:
    """Without that, a segment that was never synced would be trusted because another one was that stood there."""
    files = MemoryFiles()
    _, log = flushed(files, 40)
    drive(files, log.truncate_to(10))
    assert files.content(POINTS) == b"0\n1\norders 0 10\n"
    fill(log, 25, epoch=1)
    reopened = load(MemoryFiles(files.disk)).logs[KEY]
    assert (reopened.synced_offset, reopened.end_offset) == (10, 35)


def test_what_replaces_a_lost_end_is_cleaned_as_if_new() -> None:
    """What takes the place of records that were clean holds tombstones that nobody has looked at."""
    files = MemoryFiles()
    directory, log = flushed(files, 40)
    log.cleaned_offset = 30
    drive(files, directory.checkpoint())
    drive(files, log.truncate_to(10))
    assert log.cleaned_offset == 10
    assert files.content(CLEANED) == b"0\n1\norders 0 10\n"
    fill(log, 25, epoch=1)
    assert load(MemoryFiles(files.disk)).logs[KEY].cleaned_offset == 10


def test_a_log_that_begins_anew_is_not_clean() -> None:
    files = MemoryFiles()
    directory, log = flushed(files, 40)
    log.cleaned_offset = 30
    drive(files, directory.checkpoint())
    drive(files, log.restart_at(20, NOW_MS))
    fill(log, 25, epoch=1)
    assert files.content(CLEANED) == b"0\n0\n"
    assert load(MemoryFiles(files.disk)).logs[KEY].cleaned_offset is None


def test_what_replaces_an_end_that_a_crash_took_is_cleaned_as_if_new() -> None:
    files = MemoryFiles()
    directory, log = flushed(files, 20)
    log.cleaned_offset = 20
    drive(files, directory.checkpoint())
    del files.disk.names[log.active.log.path].live[-50:]
    files = MemoryFiles(files.disk)
    shorter = drive(files, load(files).cut(KEY, SMALL, NOW_MS))
    kept = shorter.end_offset
    assert shorter.cleaned_offset == kept < 20
    fill(shorter, 30)
    assert load(MemoryFiles(files.disk)).logs[KEY].cleaned_offset == kept


@pytest.mark.parametrize("seed", range(scaled(70)))
def test_a_deleted_key_stays_deleted(seed: int) -> None:
    """Whoever reads all that is left of a compacted log finds for each key its last value, or nothing: what was
    compacted away for a record that was cut off later stays away, and nothing comes back."""
    chance, settings = Random(seed), replace(COMPACT, segment_bytes=300)
    files = MemoryFiles()
    directory = load(files, settings)
    log: Log = drive(files, directory.create("orders", TOPIC_ID, 0, settings, NOW_MS))
    written: dict[int, tuple[bytes, bytes | None]] = {}
    now_ms = NOW_MS
    for _ in range(200):
        match chance.choice(("put", "put", "put", "clean", "clean", "cut", "checkpoint", "reopen")):
            case "put":
                pair = b"%d" % chance.randint(1, 12), chance.choice((None, b"value"))
                written[append(log, batch_of(pair[1], key=pair[0], timestamp=now_ms), now_ms=now_ms)] = pair
            case "clean":
                now_ms += chance.choice((0, 2 * settings.delete_retention_ms))
                if log.active.size_bytes:
                    log.roll(now_ms)
                drive(files, log.clean(now_ms, log.end_offset))
            case "cut":
                drive(files, log.truncate_to(max(log.end_offset - chance.randint(1, 4), 0)))
            case "checkpoint":
                drive(files, directory.checkpoint())
            case _:
                files = MemoryFiles(files.disk)
                directory = load(files, settings, now_ms)
                log = directory.logs[KEY]
        # Where all that is left below a cut was compacted away, a log goes back further when it is opened again.
        written = {offset: pair for offset, pair in written.items() if offset < log.end_offset}
        latest = dict(written[offset] for offset in sorted(written))
        found = {record.key: record.value for record in records_of(files, log)}
        assert not {key: value for key, value in found.items() if key is None or value != latest[key]}


def test_an_end_that_was_damaged_is_not_called_synced_when_it_has_grown_again() -> None:
    files = MemoryFiles()
    _, log = flushed(files, 20)
    del files.disk.names[log.active.log.path].live[-50:]
    files = MemoryFiles(files.disk)
    shorter = drive(files, load(files).cut(KEY, SMALL, NOW_MS))
    assert shorter.end_offset < 20
    kept = shorter.end_offset
    fill(shorter, 30)
    assert load(MemoryFiles(files.disk)).logs[KEY].synced_offset == kept


def test_a_full_disk_forgets_rather_than_lies() -> None:
    files = MemoryFiles()
    directory, log = flushed(files, 40)
    files.space_bytes = 0
    drive(files, log.truncate_to(10))
    assert log.blocked is None
    assert POINTS not in files.paths()
    files.space_bytes = None
    drive(files, directory.checkpoint())
    assert files.content(POINTS) == b"0\n1\norders 0 10\n"


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_a_cut_that_is_under_way_does_not_reach_a_log_of_the_same_name(seed: int) -> None:
    files = MemoryFiles()
    directory = load(files)
    log = created(files, directory)
    fill(log, 40)
    files.delay = Random(seed)
    tasks = Tasks(files)
    tasks.run(log.truncate_to(5) if seed % 2 else log.restart_at(90, NOW_MS))
    for _ in range(seed % 10):
        files.finish_one()
    directory.discard(log)
    again = created(files, directory, bytes(16))
    fill(again, 40)
    files.finish_all()
    files.delay = None
    reopened = load(MemoryFiles(files.disk)).logs[KEY]
    assert [record.offset for record in records_of(files, reopened)] == list(range(40))
