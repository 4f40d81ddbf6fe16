"""What is cut when a log is opened is only what a crash can have torn; any other damage leaves the files alone."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.core.base.ports import Steps
from penstock.core.log.damage import DAMAGE_FILE, Damage, refuse_untorn
from penstock.core.log.directory import LogDirectory
from penstock.core.log.names import RECOVERY_POINTS_FILE
from penstock.core.records.batch import iterate_headers
from tests.examples import scaled
from tests.log.helpers import (
    NOW_MS,
    ROOT,
    SMALL,
    TOPIC_ID,
    Settings,
    context_of,
    fill,
    load,
    new_log,
    offsets_of,
    records_of,
)
from tests.log.memory_files import Disk, MemoryFiles, drive

KEY = ("orders", 0)
FOLDER = f"{ROOT}/orders-0"
FIRST = f"{FOLDER}/{0:020d}.log"
ONE_FILE = Settings(index_interval_bytes=150)


def opened(disk: Disk, *, went_on: bool = False, settings: Settings = SMALL) -> tuple[LogDirectory, list[Damage]]:
    """The folder as the next process finds it, and what that one was told."""
    named: list[Damage] = []

    def note(damage: Damage) -> Steps[None]:
        named.append(damage)
        yield from refuse_untorn(damage)

    files = MemoryFiles(disk)
    directory = LogDirectory(ROOT, replace(context_of(files), on_damage=note))
    drive(files, directory.load(lambda _: settings, NOW_MS, went_on=went_on))
    return directory, named


def closed(count: int = 20, settings: Settings = SMALL) -> Disk:
    files = MemoryFiles()
    directory = load(files, settings)
    fill(drive(files, directory.create(*KEY[:1], TOPIC_ID, 0, settings, NOW_MS)), count)
    drive(files, directory.close())
    return files.disk


def killed(count: int = 20, synced: int = 0, settings: Settings = SMALL) -> Disk:
    files = MemoryFiles()
    directory = load(files, settings)
    log = drive(files, directory.create(*KEY[:1], TOPIC_ID, 0, settings, NOW_MS))
    if synced:
        fill(log, synced)
        drive(files, log.flush())
        drive(files, directory.checkpoint())
    fill(log, count - synced)
    return files.disk


def content(disk: Disk) -> dict[str, bytes]:
    return {
        path: bytes(inode.live)
        for path, inode in disk.names.items()
        if path.startswith(FOLDER) and path.endswith(".log")
    }


def positions(disk: Disk, path: str = FIRST) -> list[int]:
    return [position for position, _ in iterate_headers(bytes(disk.names[path].live))]


def test_after_a_clean_stop_nothing_is_cut() -> None:
    disk = closed(settings=ONE_FILE)
    last = positions(disk)[-1]
    del disk.names[FIRST].live[-10:]
    before = content(disk)
    directory, [damage] = opened(disk, settings=ONE_FILE)
    assert content(disk) == before
    assert list(directory.offline) == [KEY]
    assert not directory.logs
    size_bytes = len(before[FIRST]) - last
    assert damage == Damage(*KEY, FIRST, last, 19, 20, size_bytes, is_partial=True, can_be_torn=False)
    assert damage.what == f"{FIRST} at byte {last}: offsets 19 to 19 ({size_bytes} bytes)"


def test_after_a_clean_stop_a_log_that_ends_early_is_damaged() -> None:
    disk = closed(settings=ONE_FILE)
    last = positions(disk)[-1]
    del disk.names[FIRST].live[last:]
    _, [damage] = opened(disk, settings=ONE_FILE)
    assert (damage.position, damage.first_offset, damage.end_offset, damage.size_bytes) == (last, 19, 20, 0)


def test_after_a_clean_stop_a_log_that_is_gone_is_damaged() -> None:
    disk = closed()
    for path in [path for path in disk.names if path.startswith(FOLDER) and path.endswith(".log")]:
        del disk.names[path]
    _, [damage] = opened(disk)
    assert (damage.first_offset, damage.end_offset) == (0, 20)


def test_what_was_found_damaged_stays_so_through_a_clean_stop() -> None:
    """The damage is in the middle of a file, where nobody looks who opens a log that was closed."""
    disk = killed(synced=15, settings=ONE_FILE)
    disk.names[FIRST].live[positions(disk)[7] + 70] ^= 1
    directory, [first] = opened(disk, settings=ONE_FILE)
    assert first.first_offset == 7
    assert not first.can_be_torn
    files = MemoryFiles(disk)
    drive(files, directory.close())
    directory, [second] = opened(disk, settings=ONE_FILE)
    assert directory.was_clean
    assert second.first_offset == 7
    assert f"{FOLDER}/{DAMAGE_FILE}" in disk.names


def test_what_is_whole_again_is_opened() -> None:
    disk = killed(synced=15, settings=ONE_FILE)
    at = positions(disk)[7] + 70
    disk.names[FIRST].live[at] ^= 1
    directory, _ = opened(disk, settings=ONE_FILE)
    drive(MemoryFiles(disk), directory.close())
    disk.names[FIRST].live[at] ^= 1
    directory, named = opened(disk, settings=ONE_FILE)
    assert not named
    assert directory.logs[KEY].end_offset == 20
    assert f"{FOLDER}/{DAMAGE_FILE}" not in disk.names


def test_below_the_recovery_point_nothing_is_cut_after_a_crash() -> None:
    for number, batch in enumerate(positions(killed(synced=15, settings=ONE_FILE))):
        disk = killed(synced=15, settings=ONE_FILE)
        disk.names[FIRST].live[batch + 70] ^= 1
        before = content(disk)
        directory, [damage] = opened(disk, settings=ONE_FILE)
        assert (damage.first_offset, damage.position) == (number, batch)
        assert damage.can_be_torn == (number >= 15)
        assert (content(disk) == before) == (number < 15)
        assert (KEY in directory.offline) == (number < 15)


def test_where_the_machine_went_on_only_the_last_append_is_torn() -> None:
    places = positions(killed(settings=ONE_FILE))
    for number, batch in enumerate(places):
        disk = killed(settings=ONE_FILE)
        disk.names[FIRST].live[batch + 70] ^= 1
        directory, [damage] = opened(disk, went_on=True, settings=ONE_FILE)
        assert (damage.first_offset, damage.can_be_torn) == (number, False)
        assert KEY in directory.offline
    disk = killed(settings=ONE_FILE)
    del disk.names[FIRST].live[-1:]
    directory, [damage] = opened(disk, went_on=True, settings=ONE_FILE)
    assert (damage.first_offset, damage.position, damage.can_be_torn) == (19, places[-1], True)
    assert directory.logs[KEY].end_offset == 19


def test_where_the_machine_went_on_a_segment_that_is_missing_is_no_crash() -> None:
    disk = killed()
    logs = sorted(path for path in disk.names if path.startswith(FOLDER) and path.endswith(".log"))
    del disk.names[logs[1]]
    before = content(disk)
    directory, [damage] = opened(disk, went_on=True)
    assert content(disk) == before
    assert (damage.file, damage.position) == (logs[2], 0)
    assert damage.first_offset == int(logs[1][-24:-4])
    assert damage.end_offset == 20
    assert KEY in directory.offline


def test_what_is_stored_of_a_log_that_is_not_open_stays() -> None:
    disk = killed(synced=15, settings=ONE_FILE)
    disk.names[FIRST].live[70] ^= 1
    directory, _ = opened(disk, settings=ONE_FILE)
    files = MemoryFiles(disk)
    drive(files, directory.create("others", TOPIC_ID, 0, ONE_FILE, NOW_MS))
    drive(files, directory.close(dict))
    assert b"orders 0 15\n" in bytes(disk.names[f"{ROOT}/{RECOVERY_POINTS_FILE}"].live)


def test_a_cut_keeps_what_is_good() -> None:
    disk = killed(synced=15, settings=ONE_FILE)
    disk.names[FIRST].live[positions(disk)[3] + 70] ^= 1
    directory, [damage] = opened(disk, settings=ONE_FILE)
    assert damage.first_offset == 3
    log = drive(MemoryFiles(disk), directory.cut(KEY, ONE_FILE, NOW_MS))
    assert offsets_of(MemoryFiles(disk), log) == [0, 1, 2]
    assert not directory.offline
    fill(log, 4)
    assert log.end_offset == 7


@pytest.mark.parametrize("seed", range(scaled(100)))
def test_any_flipped_bit_is_named_or_does_no_harm(seed: int) -> None:
    """Whatever is flipped, and however the process before ended: what was acknowledged can be read, or it was named."""
    chance = Random(seed)
    is_clean, went_on = chance.random() < 0.5, chance.random() < 0.5
    synced = chance.randint(0, 20)
    disk = closed() if is_clean else killed(synced=synced)
    paths = sorted(path for path in disk.names if path.startswith(FOLDER) and path.endswith(("log", "index")))
    path = chance.choice([path for path in paths if disk.names[path].live])
    disk.names[path].live[chance.randrange(len(disk.names[path].live))] ^= 1 << chance.randrange(8)
    directory, named = opened(disk, went_on=went_on)
    log = directory.logs.get(KEY)
    if log is None:
        assert named
    elif not named:
        assert log.end_offset == 20
    else:
        assert named[0].first_offset == log.end_offset
        assert not is_clean
        assert not went_on
        assert log.end_offset >= synced


def test_flipping_nothing_names_nothing() -> None:
    for disk in (closed(), killed(), killed(synced=10)):
        for went_on in (False, True):
            _, named = opened(disk, went_on=went_on)
            assert not named
    files = MemoryFiles()
    fill(new_log(files), 3)
    assert len(records_of(files, opened(files.disk)[0].logs[KEY])) == 3
