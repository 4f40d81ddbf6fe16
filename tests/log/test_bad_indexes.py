"""Indexes carry no checksum: whatever was written over them, nobody is led past a record."""

from __future__ import annotations

import struct
from dataclasses import replace
from random import Random

import pytest

from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from penstock.core.log.segment import Segment
from tests.examples import scaled
from tests.log.helpers import NOW_MS, ROOT, TOPIC_ID, Settings, context_of, fill, load, records_of
from tests.log.memory_files import MemoryFiles, drive

SETTINGS = Settings(segment_bytes=4000, index_interval_bytes=150)
FOLDER = f"{ROOT}/orders-0"
COUNT = 60


def closed() -> MemoryFiles:
    files = MemoryFiles()
    directory = load(files, SETTINGS)
    fill(drive(files, directory.create("orders", TOPIC_ID, 0, SETTINGS, NOW_MS)), COUNT)
    drive(files, directory.close())
    return MemoryFiles(files.disk)


def opened(files: MemoryFiles) -> tuple[Log, list[str]]:
    """The log as the next process opens it, and what that is told of indexes."""
    rebuilt: list[str] = []

    def note(log: Log, segment: Segment) -> None:
        rebuilt.append(segment.log.path)

    directory = LogDirectory(ROOT, replace(context_of(files), on_bad_index=note))
    drive(files, directory.load(lambda _: SETTINGS, NOW_MS))
    return directory.logs["orders", 0], rebuilt


def check_readers(files: MemoryFiles, log: Log) -> None:
    for offset in range(0, COUNT, 3):
        assert next(record.offset for record in records_of(files, log, offset, max_bytes=1)) == offset
        assert drive(files, log.offset_for_time(NOW_MS + offset)) == (NOW_MS + offset, offset, 0)
    assert drive(files, log.max_timestamp()) == (NOW_MS + COUNT - 1, COUNT - 1, 0)


@pytest.mark.parametrize("position", [-1, 0, 3999, 4000, 1 << 30, 333])
def test_an_offset_index_that_points_elsewhere_is_made_anew(position: int) -> None:
    files = closed()
    path = f"{FOLDER}/{0:020d}.index"
    index = files.content(path)
    for at in range(0, len(index), 8):
        struct.pack_into(">i", files.disk.names[path].live, at + 4, position)
    log, rebuilt = opened(files)
    check_readers(files, log)
    assert rebuilt == [f"{FOLDER}/{0:020d}.log"]
    assert files.content(path) == index


def test_an_offset_index_of_a_later_place_is_made_anew() -> None:
    """Each entry points to a batch that is there, and comes too late."""
    files = closed()
    path = f"{FOLDER}/{0:020d}.index"
    index = files.content(path)
    for at in range(0, len(index) - 8, 8):
        files.disk.names[path].live[at + 4 : at + 8] = index[at + 12 : at + 16]
    log, rebuilt = opened(files)
    check_readers(files, log)
    assert len(rebuilt) == 1
    assert files.content(path) == index


def test_a_time_index_that_lies_is_made_anew() -> None:
    files = closed()
    path = f"{FOLDER}/{0:020d}.timeindex"
    index = files.content(path)
    for at in range(0, len(index), 12):
        struct.pack_into(">i", files.disk.names[path].live, at + 8, 15)
    log, rebuilt = opened(files)
    check_readers(files, log)
    assert len(rebuilt) == 1
    assert files.content(path) == index


def test_a_time_index_does_not_let_a_segment_expire_too_soon() -> None:
    files = closed()
    path = f"{FOLDER}/{0:020d}.timeindex"
    for at in range(0, len(files.content(path)), 12):
        struct.pack_into(">q", files.disk.names[path].live, at, at)
    log, rebuilt = opened(files)
    assert drive(files, log.retain(NOW_MS + 1000, COUNT)) == 0
    assert len(rebuilt) == 1


def test_an_active_segment_gets_its_index_anew_while_it_grows() -> None:
    files = closed()
    log, rebuilt = opened(files)
    path = log.active.offsets.file.path
    content = files.content(path)
    struct.pack_into(">i", files.disk.names[path].live, len(content) - 4, 1 << 20)
    log.context.index_cache.drop(log.active.offsets)
    slow = MemoryFiles(files.disk, Random(1))
    steps = log.read(COUNT - 1, 1, COUNT, True)
    fill(log, 5)
    piece = drive(slow, steps)
    assert piece is not None
    assert rebuilt == [log.active.log.path]
    for offset in range(COUNT + 5):
        assert next(record.offset for record in records_of(files, log, offset, max_bytes=1)) == offset
    assert len(rebuilt) == 1


@pytest.mark.parametrize("seed", range(scaled(60)))
def test_readers_find_all_whatever_was_written_over_an_index(seed: int) -> None:
    chance = Random(seed)
    files = closed()
    paths = [path for path in files.paths() if path.endswith(("index",)) and files.content(path)]
    live = files.disk.names[chance.choice(paths)].live
    start = chance.randrange(len(live))
    length = chance.randint(1, len(live) - start)
    match seed % 3:
        case 0:
            live[start : start + length] = bytes(length)
        case 1:
            live[start : start + length] = chance.randbytes(length)
        case _:
            live[start] ^= 1 << chance.randrange(8)
    log, _ = opened(files)
    found = [record.offset for record in records_of(files, log)]
    assert found == list(range(COUNT))
    for offset in range(0, COUNT, 3):
        assert next(record.offset for record in records_of(files, log, offset, max_bytes=1)) == offset
