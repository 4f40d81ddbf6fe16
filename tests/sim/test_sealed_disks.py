"""Nodes and logs in worlds whose disks seal what is written: crashes, torn writes, power cuts, and compaction, too."""

from __future__ import annotations

import pytest

from penstock.core.sealing.frames import MAGIC
from penstock.sim import disk
from penstock.sim.chance import Chance
from penstock.sim.log_scenario import run_log_seed
from penstock.sim.platter import FileNode
from penstock.sim.run import run_seed
from tests.fresh_seeds import fresh
from tests.sim.many_seeds import SEEDS_PER_TEST, run_all
from tests.sim.sealed_volume import SealedVolume

LOG_SEEDS = range(8)
NODE_SEEDS = range(3)
SOAK_SEEDS = fresh(200)


@pytest.fixture(autouse=True)
def volumes(monkeypatch: pytest.MonkeyPatch) -> list[SealedVolume]:
    """All disks that are made."""
    made: list[SealedVolume] = []

    def make(chance: Chance, note: object) -> SealedVolume:
        made.append(SealedVolume(chance, note))  # type: ignore[arg-type]  # what the disk gives
        return made[-1]

    monkeypatch.setattr(disk, "Volume", make)
    return made


def sealed_files(volumes: list[SealedVolume]) -> int:
    return sum(
        isinstance(node, FileNode) and node.written.startswith(MAGIC)
        for volume in volumes
        for node in volume.platter.below("/")
    )


@pytest.mark.slow
def test_a_sealed_log_keeps_its_promises(volumes: list[SealedVolume]) -> None:
    run_all(run_log_seed, LOG_SEEDS, ())
    assert sealed_files(volumes)
    assert sum(volume.tears for volume in volumes)


@pytest.mark.slow
def test_a_node_with_sealed_files_keeps_its_promises(volumes: list[SealedVolume]) -> None:
    run_all(run_seed, NODE_SEEDS, ())
    assert sealed_files(volumes)


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK_SEEDS[::SEEDS_PER_TEST])
def test_many_seeds(first: int) -> None:
    run_all(run_log_seed, range(first, first + SEEDS_PER_TEST), ())
    run_all(run_seed, range(first, first + SEEDS_PER_TEST // 4), ())
