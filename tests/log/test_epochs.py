"""Leader epochs: where each began, what OffsetForLeaderEpoch answers, and the file."""

from __future__ import annotations

import pytest

from penstock.core.log.epochs import LeaderEpochs
from tests.log.helpers import fill, load, new_log, reopen
from tests.log.memory_files import MemoryFiles, drive


def epochs_of(*entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, offset in entries:
        epochs.assign(epoch, offset)
    return epochs


@pytest.mark.parametrize(
    ("epoch", "answer"),
    [
        (-1, (-1, -1)),
        (1, (1, 10)),
        (2, (2, 20)),
        (3, (2, 20)),
        (4, (4, 50)),
        (5, (-1, -1)),
    ],
)
def test_the_end_of_an_epoch(epoch: int, answer: tuple[int, int]) -> None:
    assert epochs_of((2, 10), (4, 20)).end_of(epoch, 50) == answer


def test_an_empty_history_knows_nothing() -> None:
    assert LeaderEpochs().end_of(0, 5) == (-1, -1)
    assert LeaderEpochs().at(3) == -1


def test_entries_that_contradict_a_new_one_go() -> None:
    assert epochs_of((1, 0), (2, 10), (3, 10)).entries() == [(1, 0), (3, 10)]
    assert epochs_of((1, 0), (4, 10), (2, 5)).entries() == [(1, 0), (2, 5)]
    assert epochs_of((1, 0), (1, 7)).entries() == [(1, 0)]
    assert epochs_of((1, 5), (1, 3)).entries() == [(1, 3)]


def test_truncating_either_end() -> None:
    epochs = epochs_of((1, 0), (2, 10), (5, 20))
    epochs.truncate_end(20)
    assert epochs.entries() == [(1, 0), (2, 10)]
    epochs.truncate_start(12)
    assert epochs.entries() == [(2, 12)]
    assert [epochs.at(offset) for offset in (11, 12, 99)] == [-1, 2, 2]
    epochs.truncate_start(5)
    assert epochs.entries() == [(2, 12)]


@pytest.mark.parametrize("clean", [True, False])
def test_epochs_survive_a_restart(clean: bool) -> None:
    files = MemoryFiles()
    log = new_log(files)
    for epoch in (0, 2, 3):
        fill(log, 10, epoch=epoch)
    drive(files, log.flush())
    fill(log, 5, epoch=7)
    if clean:
        drive(files, log.close())
    assert log.epochs.entries() == [(0, 0), (2, 10), (3, 20), (7, 30)]
    log = reopen(files)
    assert log.epochs.entries() == [(0, 0), (2, 10), (3, 20), (7, 30)]
    assert log.epoch_end(2) == (2, 20)
    assert log.epoch_end(7) == (7, 35)
    assert log.epoch_at(25) == 3


def test_the_file_has_kafkas_format() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 3, epoch=4)
    drive(files, log.close())
    assert files.content("/data/orders-0/leader-epoch-checkpoint") == b"0\n1\n4 0\n"


def test_a_damaged_file_is_made_good_by_the_scan() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 3, epoch=4)
    drive(files, log.flush())
    files.disk.names["/data/orders-0/leader-epoch-checkpoint"].live[:] = b"0\n7\n4 0\n"
    assert load(files).logs["orders", 0].epochs.entries() == [(4, 0)]
