"""What is damaged is told to the batch, and taken out to the batch; everything else can be read as before."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.log.repairing import KEPT, repair
from penstock.core.log.verifying import SegmentCheck, verify_folder
from penstock.core.records.batch import iterate_headers
from tests.examples import scaled
from tests.log.helpers import NOW_MS, ROOT, TOPIC_ID, Settings, fill, load, offsets_of
from tests.log.memory_files import MemoryFiles, drive

KEY = ("orders", 0)
FOLDER = f"{ROOT}/orders-0"
SETTINGS = Settings(segment_bytes=1500, index_interval_bytes=150)
COUNT = 30


def closed(count: int = COUNT, size: int = 100) -> MemoryFiles:
    files = MemoryFiles()
    directory = load(files, SETTINGS)
    fill(drive(files, directory.create("orders", TOPIC_ID, 0, SETTINGS, NOW_MS)), count, size)
    drive(files, directory.close())
    return MemoryFiles(files.disk)


def checks_of(files: MemoryFiles, *, seeks: bool = True) -> list[SegmentCheck]:
    checks: list[SegmentCheck] = drive(files, verify_folder(FOLDER, seeks=seeks))
    return checks


def logs_of(files: MemoryFiles) -> list[str]:
    return [path for path in files.paths() if path.startswith(FOLDER) and path.endswith(".log")]


def test_what_is_whole_is_found_whole() -> None:
    checks = checks_of(closed())
    assert len(checks) == 4
    assert sum(check.batches for check in checks) == COUNT
    assert not any(check.bad or check.is_index_bad for check in checks)
    (large,) = checks_of(closed(1, size=300_000))
    assert (large.batches, large.bad) == (1, [])


@pytest.mark.parametrize("number", range(COUNT))
def test_one_bad_batch_costs_one_batch(number: int) -> None:
    files = closed()
    path = max(path for path in logs_of(files) if int(path[-24:-4]) <= number)
    at = next(p for p, header in iterate_headers(files.content(path)) if header.base_offset == number)
    files.disk.names[path].live[at + 80] ^= 8
    (bad,) = [bad for check in checks_of(files) for bad in check.bad]
    assert (bad.file, bad.position, bad.first_offset, bad.end_offset) == (path, at, number, number + 1)
    content = files.content(path)
    (kept,) = drive(files, repair(ROOT, KEY, checks_of(files)))
    assert kept == f"{path}.{at}{KEPT}"
    assert files.content(kept) == content[at : at + bad.size_bytes]
    directory = load(files, SETTINGS)
    log = directory.logs[KEY]
    assert offsets_of(files, log) == [offset for offset in range(COUNT) if offset != number]
    assert log.end_offset == COUNT
    fill(log, 1)
    assert log.end_offset == COUNT + 1


@pytest.mark.parametrize("seed", range(scaled(60)))
def test_a_repair_takes_out_no_more_than_what_was_written_over(seed: int) -> None:
    chance = Random(seed)
    files = closed()
    path = chance.choice(logs_of(files))
    live = files.disk.names[path].live
    start = chance.randrange(len(live))
    end = min(len(live), start + chance.randint(1, 400))
    hit = {
        header.base_offset
        for position, header in iterate_headers(bytes(live))
        if position < end and position + header.size > start
    }
    live[start:end] = chance.randbytes(end - start) if seed % 2 else bytes(end - start)
    checks = checks_of(files)
    assert any(check.bad for check in checks)
    drive(files, repair(ROOT, KEY, checks))
    assert not any(check.bad for check in checks_of(files))
    for clean in (True, False):
        directory = load(files, SETTINGS)
        assert not directory.offline
        log = directory.logs[KEY]
        found = offsets_of(files, log)
        # What was written over with what stood there is no damage.
        assert sorted(hit | set(found)) == list(range(COUNT))
        assert log.end_offset == COUNT
        if clean:
            drive(files, directory.close())


def test_what_a_node_may_read_is_bounded_though_a_length_lies() -> None:
    """Without seeking, damage that cannot be stepped over reaches to the end of its segment."""
    files = closed()
    path = logs_of(files)[0]
    files.disk.names[path].live[8:12] = (1 << 20).to_bytes(4, "big")
    first = checks_of(files, seeks=False)[0]
    (bad,) = first.bad
    assert (bad.position, bad.size_bytes) == (0, first.size_bytes)
    assert (bad.first_offset, bad.end_offset) == (0, first.end_offset)
    assert checks_of(files)[0].bad[0].end_offset == 1


def test_a_log_that_lacks_its_end_goes_on_where_it_ended() -> None:
    files = closed()
    path = logs_of(files)[-1]
    last = [position for position, _ in iterate_headers(files.content(path))][-1]
    del files.disk.names[path].live[last:]
    directory = load(files, SETTINGS)
    if directory.offline:
        drive(files, repair(ROOT, KEY, checks_of(files)))
        directory = load(files, SETTINGS)
        assert directory.logs[KEY].end_offset == COUNT
        assert offsets_of(files, directory.logs[KEY]) == list(range(COUNT - 1))


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_an_index_that_is_wrong_is_told(kind: str) -> None:
    files = closed()
    path = f"{FOLDER}/{0:020d}.{kind}"
    for at in range(len(files.content(path))):
        flipped = MemoryFiles(closed().disk)
        flipped.disk.names[path].live[at] ^= 0x11
        first = checks_of(flipped)[0]
        assert first.is_index_bad
        assert not first.bad
