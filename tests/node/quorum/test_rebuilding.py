"""Voters whose metadata is damaged: one gets it back from the others, two wait, and nothing is deleted for that."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.quorum import setting_aside, state_file
from penstock.core.node.quorum.setting_aside import DAMAGED
from penstock.sim.scheduler import SECOND
from penstock.sim.site import Site
from penstock.sim.world import DATA
from tests.sim.test_voters import Voters

pytestmark = pytest.mark.slow

FOLDER = f"{DATA}/__cluster_metadata-0"
DECISIONS = 40
"""More than one snapshot's worth."""


def made() -> tuple[Voters, int]:
    """Three voters that have decided something, and their leader."""
    voters = Voters()
    voters.run_until(lambda: voters.leader() is not None)
    leader = voters.leader()
    assert leader is not None
    for number in range(DECISIONS):
        answers = voters.decide(leader, f"k{number}")
        voters.run_until(lambda answers=answers: answers == [ErrorCode.NONE])
    voters.run_until(lambda: len(voters.have(f"k{DECISIONS - 1}")) == 3)
    run(voters, 3)
    return voters, leader


def run(voters: Voters, seconds: int) -> None:
    scheduler = voters.world.scheduler
    scheduler.run_until(scheduler.now_us + seconds * SECOND)


def files(site: Site, folder: str = FOLDER) -> list[str]:
    return sorted(site.disk.volume.platter.directory(folder).names)


def overwrite(site: Site, path: str, position: int) -> None:
    file = site.disk.volume.platter.file(path)
    file.written[position : position + 4] = bytes(each ^ 0x5A for each in file.written[position : position + 4])
    file.synced = bytes(file.written)


def damage(site: Site, *, election: bool = False) -> None:
    """Everything that could give the metadata back, while nobody runs there."""
    for name in files(site):
        if name.endswith((".log", ".checkpoint")) and site.disk.volume.platter.file(f"{FOLDER}/{name}").written:
            overwrite(site, f"{FOLDER}/{name}", 30)
    if election:
        overwrite(site, f"{FOLDER}/{state_file.FILE}", 0)


def voting(voters: Voters, number: int) -> Node | None:
    node = voters.node(number)
    return node if node is not None and node.quorum.has_begun and not node.quorum.raft.is_rebuilding else None


@pytest.mark.parametrize("election", [False, True])
@pytest.mark.parametrize("is_leader", [False, True])
def test_a_damaged_voter_gets_its_metadata_from_the_others(is_leader: bool, election: bool) -> None:
    voters, leader = made()
    number = leader if is_leader else next(each for each in voters.world.sites if each != leader)
    site = voters.world.sites[number]
    site.power_loss(SECOND)
    damage(site, election=election)
    voters.run_until(lambda: voters.node(number) is not None)
    node = voters.node(number)
    assert node is not None
    assert node.quorum.raft.is_rebuilding
    assert setting_aside.FILE in files(site)
    aside = [name for name in files(site, DATA) if DAMAGED in name]
    assert aside == ["__cluster_metadata-0-damaged.1"]
    assert any(name.endswith(".log") for name in files(site, f"{DATA}/{aside[0]}"))
    voters.run_until(lambda: voting(voters, number) is not None)
    voters.run_until(lambda: len(voters.have(f"k{DECISIONS - 1}")) == 3)
    run(voters, 2)
    assert setting_aside.FILE not in files(site)
    assert node.metrics.metadata_rebuilds == 1
    second = voters.leader()
    assert second is not None
    other = next(each for each in voters.world.sites if each not in (second, number))
    voters.world.sites[other].crash(60 * SECOND)
    answers = voters.decide(second, "after")
    voters.run_until(lambda: answers == [ErrorCode.NONE])


def test_two_of_three_wait_and_vote_for_nobody() -> None:
    voters, leader = made()
    damaged = [number for number in voters.world.sites if number != leader]
    for number in (leader, *damaged):
        voters.world.sites[number].power_loss(SECOND)
    for number in damaged:
        damage(voters.world.sites[number])
    run(voters, 60)
    assert voters.leader() is None
    for number in damaged:
        node = voters.node(number)
        assert node is not None
        assert node.state == "starting"
        assert node.quorum.raft.is_rebuilding
        assert node.quorum.raft.election.voted is None or node.quorum.raft.election.voted.id == leader


def test_a_crash_at_any_time_of_it_does_no_harm() -> None:
    voters, leader = made()
    number = next(each for each in voters.world.sites if each != leader)
    site = voters.world.sites[number]
    site.power_loss(SECOND // 10)
    damage(site)
    for _ in range(30):
        run_ms = 7
        scheduler = voters.world.scheduler
        scheduler.run_until(scheduler.now_us + run_ms * 1000)
        if site.machine.running:
            site.power_loss(1)
    voters.run_until(lambda: voting(voters, number) is not None)
    voters.run_until(lambda: len(voters.have(f"k{DECISIONS - 1}")) == 3)
