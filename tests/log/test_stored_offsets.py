"""What is stored of a log holds for that log only, and for no more of it than there is."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.base.steps import Tasks
from penstock.core.log.checkpoints import Offsets
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from tests.log.helpers import NOW_MS, SMALL, TOPIC_ID, fill, load, records_of, remove
from tests.log.memory_files import MemoryFiles, drive

KEY = "orders", 0
POINTS = "/data/recovery-point-offset-checkpoint"


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


@pytest.mark.parametrize("seed", range(40))
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


def test_an_end_that_a_crash_took_is_not_called_synced_when_it_has_grown_again() -> None:
    files = MemoryFiles()
    _, log = flushed(files, 20)
    del files.disk.names[log.active.log.path].live[-50:]
    files = MemoryFiles(files.disk)
    shorter = load(files).logs[KEY]
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


@pytest.mark.parametrize("seed", range(40))
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
