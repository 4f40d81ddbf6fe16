"""Flushes among appends and rolls that take their time: what the log calls synced is there after a power loss."""

from __future__ import annotations

from random import Random

import pytest

from tests.examples import scaled
from tests.log.helpers import fill, load, new_log
from tests.log.memory_files import MemoryFiles


@pytest.mark.parametrize("seed", range(scaled(200)))
def test_what_is_called_synced_survives_power_loss(seed: int) -> None:
    chance = Random(seed)
    files = MemoryFiles()
    log = new_log(files)
    files.delay = chance
    for _ in range(chance.randrange(20, 300)):
        match chance.randrange(12):
            case 0:
                fill(log, 1, size=chance.choice((10, 100, 600)))
            case 1:
                log.request_flush()
            case _:
                files.finish_one()
    promised = log.synced_offset
    files.disk.lose_power(chance)
    found = load(MemoryFiles(files.disk)).logs.get(("orders", 0))
    assert (0 if found is None else found.end_offset) >= promised


@pytest.mark.parametrize("seed", range(scaled(200)))
def test_a_power_loss_leaves_the_log_from_its_beginning(seed: int) -> None:
    chance = Random(seed)
    files = MemoryFiles()
    log = new_log(files)
    files.delay = chance
    for _ in range(chance.randrange(5, 60)):
        if chance.random() < 0.3:
            fill(log, 1, size=600)
        else:
            files.finish_one()
    files.disk.lose_power(chance)
    found = load(MemoryFiles(files.disk)).logs.get(("orders", 0))
    assert found is None or found.start_offset == 0
    assert found is None or [segment.base_offset for segment in found.segments][:1] == [0]


@pytest.mark.parametrize("seed", range(scaled(100)))
def test_what_takes_the_place_of_a_cut_is_not_called_synced_by_a_flush_from_before(seed: int) -> None:
    chance = Random(seed)
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 20, size=100)
    files.delay = chance
    log.context.tasks.run(log.truncate_to(chance.randrange(1, 20)))
    for _ in range(chance.randrange(4)):
        files.finish_one()
    log.request_flush()
    for _ in range(400):
        if log.blocked is None:
            fill(log, 1, size=100)
        files.finish_one()
        assert log.synced_offset <= log.written_offset
