"""A log opens after a crash at any byte and at any operation, and holds everything that was promised to survive."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.core.base.ports import Append, File, Steps
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from penstock.core.records.batch import iterate_headers
from tests.examples import scaled
from tests.log.helpers import (
    NOW_MS,
    ROOT,
    SMALL,
    Settings,
    append,
    batch_of,
    context_of,
    fill,
    load,
    new_log,
    records_of,
    reopen,
)
from tests.log.memory_files import Crashed, Disk, Inode, MemoryFiles, drive

FOLDER = "/data/orders-0"


def check_whole(files: MemoryFiles, log: Log, at_least: int, at_most: int) -> None:
    """The log is a prefix of what was appended, every record in its place, and it takes appends."""
    files = MemoryFiles(files.disk)
    offsets = [record.offset for record in records_of(files, log)]
    assert offsets == list(range(log.start_offset, log.end_offset))
    assert at_least <= log.end_offset <= at_most
    for offset in range(log.start_offset, log.end_offset, 3):
        assert records_of(files, log, offset, max_bytes=1)[0].offset == offset
    for record in records_of(files, log):
        assert record.value is not None
        assert record.value.rstrip(b".") == b"%d" % record.offset
    end = log.end_offset
    fill(log, 1)
    assert log.end_offset == end + 1


def copy_of(disk: Disk) -> Disk:
    copy = Disk()
    copy.folders = set(disk.folders)
    copy.names = {path: Inode(bytes(inode.live)) for path, inode in disk.names.items()}
    return copy


def test_opens_when_its_file_is_cut_at_any_byte() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=150))
    fill(log, 8, size=30)
    path = f"{FOLDER}/{0:020d}.log"
    ends = [position + header.size for position, header in iterate_headers(files.content(path))]
    for size in range(len(files.content(path)) + 1):
        disk = copy_of(files.disk)
        del disk.names[path].live[size:]
        expected = sum(1 for end in ends if end <= size)
        check_whole(MemoryFiles(disk), reopen(MemoryFiles(disk)), expected, expected)


def test_opens_when_any_byte_is_flipped() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=150))
    fill(log, 4, size=10, epoch=1)
    path = f"{FOLDER}/{0:020d}.log"
    starts = [position for position, _ in iterate_headers(files.content(path))]
    for at in range(len(files.content(path))):
        disk = copy_of(files.disk)
        disk.names[path].live[at] ^= 0x40
        whole = sum(1 for start in starts[1:] if start <= at)
        log = reopen(MemoryFiles(disk))
        # A higher epoch or base offset is not covered by the checksum and cannot be told from a true one.
        if at - starts[whole] >= 16:
            assert log.end_offset == whole


def crash_points(prepare: int = 0) -> range:
    return range(prepare, 400)


def life(files: MemoryFiles, settings: Settings = SMALL) -> int:
    """A process that appends, rolls, flushes, checkpoints and closes; gives how many batches were Written."""
    directory = LogDirectory(ROOT, context_of(files))
    drive(files, directory.load(lambda _: settings, NOW_MS))
    log = directory.logs.get(("orders", 0))
    if log is None:
        log = drive(files, directory.create("orders", bytes(16), 0, settings, NOW_MS))
    for _ in range(3):
        fill(log, 11)
        drive(files, log.flush())
        fill(log, 2)
        drive(files, directory.checkpoint(lambda: {("orders", 0): log.written_offset}))
    drive(files, directory.close())
    return log.end_offset


@pytest.mark.slow
def test_a_process_may_die_at_any_operation() -> None:
    reference = MemoryFiles()
    total = life(reference)
    operations = reference.operations
    assert operations > 100
    for count in range(operations):
        files = MemoryFiles()
        files.operations_left = count
        with pytest.raises(Crashed):
            life(files)
        files.operations_left = None
        written = sum(
            sum(1 for _ in iterate_headers(files.content(path), partial_tail=True))
            for path in files.paths()
            if path.endswith(".log")
        )
        log = load(MemoryFiles(files.disk)).logs.get(("orders", 0))
        if log is not None:
            check_whole(files, log, written, total)


@pytest.mark.slow
def test_a_process_may_die_while_it_recovers() -> None:
    original = MemoryFiles()
    log = new_log(original)
    fill(log, 40)
    for path in original.paths():
        if path.endswith((".index", ".timeindex")):
            del original.disk.names[path].live[5:]
    reference = MemoryFiles(copy_of(original.disk))
    load(reference)
    for count in range(reference.operations):
        files = MemoryFiles(copy_of(original.disk))
        files.operations_left = count
        with pytest.raises(Crashed):
            load(files)
        check_whole(files, reopen(files), 40, 40)


@pytest.mark.parametrize("seed", range(scaled(150)))
def test_power_loss_keeps_what_was_synced(seed: int) -> None:
    chance = Random(seed)
    files = MemoryFiles(delay=Random(seed) if seed % 3 == 0 else None)
    log = new_log(files)
    synced = 0
    for _ in range(chance.randint(1, 6)):
        fill(log, chance.randint(0, 12), size=chance.choice((20, 100, 400)))
        for _ in range(chance.randint(0, 10)):
            files.finish_one()
        if chance.random() < 0.5:
            drive(files, log.flush())
        synced = log.synced_offset
    end = log.end_offset
    files.disk.lose_power(chance)
    directory = load(MemoryFiles(files.disk))
    found = directory.logs.get(("orders", 0))
    if found is None:
        assert synced == 0
    else:
        check_whole(files, found, synced, end)


@pytest.mark.parametrize("seed", range(scaled(60)))
def test_power_loss_after_power_loss(seed: int) -> None:
    chance = Random(seed)
    disk, synced = Disk(), 0
    for _ in range(4):
        files = MemoryFiles(disk)
        directory = load(files)
        log = directory.logs.get(("orders", 0)) or drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
        assert synced <= log.end_offset
        assert [record.offset for record in records_of(files, log)] == list(range(log.end_offset))
        fill(log, chance.randint(0, 15), size=chance.choice((20, 300)))
        if chance.random() < 0.6:
            drive(files, log.flush())
            fill(log, chance.randint(0, 5))
        if chance.random() < 0.5:
            drive(files, directory.checkpoint())
        synced = log.synced_offset
        if chance.random() < 0.3:
            drive(files, directory.close())
            synced = log.end_offset
        disk.lose_power(chance)


def test_a_clean_log_opens_without_a_scan() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    fill(log, 40)
    drive(files, directory.close())
    again = MemoryFiles(files.disk)
    directory = load(again)
    log = directory.logs["orders", 0]
    assert (log.end_offset, log.written_offset, log.synced_offset) == (40, 40, 40)
    reads = [step for step in again.history if step.startswith("Read") and step.endswith(".log")]
    assert len(reads) <= 4
    before = again.operations
    drive(again, directory.close())
    # An idle log is closed without a single operation; the mark takes three.
    assert again.operations - before == 3
    assert directory.was_clean


def test_the_clean_mark_counts_once() -> None:
    files = MemoryFiles()
    directory = load(files)
    drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    drive(files, directory.close(broker_epoch=7))
    first = load(files)
    assert (first.was_clean, first.broker_epoch) == (True, 7)
    second = load(files)
    assert not second.was_clean


def test_a_trusted_segment_without_index_gets_one() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    fill(log, 40)
    drive(files, directory.close())
    index = files.content(f"{FOLDER}/{0:020d}.index")
    assert index
    del files.disk.names[f"{FOLDER}/{0:020d}.index"]
    del files.disk.names[f"{FOLDER}/{0:020d}.timeindex"].live[1:]
    log = reopen(files)
    assert files.content(f"{FOLDER}/{0:020d}.index") == index
    check_whole(files, log, 40, 40)


def test_an_index_that_lies_is_made_anew_when_it_is_found_out() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    fill(log, 40)
    drive(files, directory.close())
    path = f"{FOLDER}/{0:020d}.index"
    index = files.content(path)
    files.disk.names[path].live[:] = bytes.fromhex("0000000100000190") + index[8:]
    log = reopen(files)
    check_whole(files, log, 40, 40)
    assert files.content(path) == index


def test_a_start_behind_the_end_leaves_an_empty_log() -> None:
    files = MemoryFiles()
    directory = load(files)
    log = drive(files, directory.create("orders", bytes(16), 0, SMALL, NOW_MS))
    fill(log, 10)
    drive(files, log.delete_records(8))
    drive(files, directory.checkpoint())
    for path in files.paths():
        if path.endswith(".log"):
            del files.disk.names[path].live[200:]
    log = reopen(files)
    assert (log.start_offset, log.end_offset) == (8, 8)
    append(log, batch_of(b"8."))
    assert log.end_offset == 9


def test_folders_that_are_not_logs_are_left_alone() -> None:
    files = MemoryFiles()
    new_log(files)
    files.disk.folders |= {"/data/lost+found", "/data/__cluster_metadata-0"}
    drive(files, _write(f"{ROOT}/meta.properties"))
    assert list(load(files).logs) == [("orders", 0)]


def _write(path: str):  # type: ignore[no-untyped-def]  # a generator of one step
    yield Append(File(path), b"x")


def losses_of(disk: Disk) -> int:
    """How often the opening of a folder says that it is about to lose something."""
    told = []

    def before_loss() -> Steps[None]:
        told.append(1)
        yield from ()

    files = MemoryFiles(disk)
    directory = LogDirectory(ROOT, replace(context_of(files), before_loss=before_loss))
    drive(files, directory.load(lambda _: SMALL, NOW_MS))
    return len(told)


def test_half_an_append_is_no_loss() -> None:
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=150))
    fill(log, 8, size=30)
    path = f"{FOLDER}/{0:020d}.log"
    for size in range(len(files.content(path)) + 1):
        disk = copy_of(files.disk)
        del disk.names[path].live[size:]
        assert not losses_of(disk)


def test_a_whole_batch_that_is_bad_is_a_loss() -> None:
    files = MemoryFiles()
    fill(new_log(files, Settings(index_interval_bytes=150)), 4, size=10)
    path = f"{FOLDER}/{0:020d}.log"
    for position, header in iterate_headers(files.content(path)):
        disk = copy_of(files.disk)
        disk.names[path].live[position + header.size - 1] ^= 0x40
        assert losses_of(disk) == 1


def test_segments_that_do_not_go_on_where_the_log_ends_are_a_loss() -> None:
    files = MemoryFiles()
    fill(new_log(files), 20)
    first = f"{FOLDER}/{0:020d}.log"
    assert sum(path.endswith(".log") for path in files.paths()) > 2
    for missing in (1, len(files.content(first))):
        disk = copy_of(files.disk)
        del disk.names[first].live[-missing:]
        assert losses_of(disk)


def test_after_a_clean_stop_anything_that_is_missing_is_a_loss() -> None:
    files = MemoryFiles()
    fill(new_log(files, Settings(index_interval_bytes=150)), 4)
    drive(files, load(MemoryFiles(files.disk)).close())
    assert not losses_of(copy_of(files.disk))
    del files.disk.names[f"{FOLDER}/{0:020d}.log"].live[-1:]
    assert losses_of(files.disk) == 1


def test_epochs_are_those_of_the_batches_and_not_of_what_was_cut_off() -> None:
    """A follower is cut, gets what another leader wrote in an earlier epoch, and dies before it has stored its epochs:
    what it would say of its last epoch decides elections."""
    files = MemoryFiles()
    log = new_log(files, Settings(index_interval_bytes=150))
    fill(log, 4, epoch=1)
    fill(log, 4, epoch=5)
    drive(files, log.flush())
    drive(files, log.truncate_to(4))
    fill(log, 4, epoch=3)
    again = reopen(files)
    assert again.epochs.entries() == log.epochs.entries() == [(1, 0), (3, 4)]
    assert again.epoch_end(3) == (3, 8)
