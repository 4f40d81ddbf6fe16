"""Voters whose disks are full: they cannot vote, lead or take anything in, but live, and go on when there is room."""

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import count

import pytest

from penstock.core.base.ports import Append, Done, FileFailure, FileOp, Pause, Rename
from penstock.core.node.node import Node
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.raft.ids import SnapshotId
from penstock.sim.cluster import ClusterNodes
from penstock.sim.disk import DiskProfile
from penstock.sim.dynamic import FOLDER
from penstock.sim.network import NetworkProfile
from penstock.sim.scheduler import SECOND
from penstock.sim.voters.court import Court
from penstock.sim.voters.nodes import VoterNodes
from penstock.sim.world import World
from tests.log.memory_files import MemoryFiles, drive
from tests.node.towns import Town

LONG = 600 * SECOND


class Voters:
    """Three voters with a leader, whose process then dies for long."""

    def __init__(self) -> None:
        self.world = World(1, VoterNodes(3), Court, DiskProfile(inline=0.5), NetworkProfile(), machines=3)
        self.world.boot()
        self.wait(lambda: self.leader() is not None)
        self.wait(lambda: all(site.machine.running for site in self.world.sites.values()))
        self.dead = self.leader()
        self.others = [number for number in self.world.sites if number != self.dead]

    def wait(self, condition: object, seconds: int = 30) -> None:
        assert callable(condition)
        scheduler = self.world.scheduler
        assert scheduler.run_while(lambda: not condition(), scheduler.now_us + seconds * SECOND), "it did not happen"

    def run(self, seconds: int) -> None:
        scheduler = self.world.scheduler
        scheduler.run_until(scheduler.now_us + seconds * SECOND)

    def node(self, number: int) -> Node:
        node = self.world.sites[number].node
        assert isinstance(node, Node)
        return node

    def leader(self) -> int | None:
        nodes = {number: site.node for number, site in self.world.sites.items()}
        return next((n for n, node in nodes.items() if isinstance(node, Node) and self._leads(node)), None)

    def _leads(self, node: Node) -> bool:
        return hasattr(node, "quorum") and node.quorum.leads

    def kill_leader(self) -> None:
        assert self.dead is not None
        self.world.sites[self.dead].crash(LONG)

    def fill(self, free_bytes: int | None) -> None:
        for number in self.others:
            self.world.sites[number].disk.volume.free_bytes = free_bytes


def test_a_vote_that_cannot_be_saved_is_not_given_and_stops_nobody() -> None:
    voters = Voters()
    lives = [voters.node(number) for number in voters.others]
    voters.fill(0)
    voters.kill_leader()
    voters.run(10)
    assert voters.leader() is None
    assert [voters.node(number) for number in voters.others] == lives, "nobody was started anew"
    voters.fill(None)
    voters.wait(lambda: voters.leader() is not None)
    assert [voters.node(number) for number in voters.others] == lives


def test_who_wins_while_its_log_takes_nothing_leads_later() -> None:
    voters = Voters()
    logs = [voters.node(number).quorum.log for number in voters.others]
    lives = [voters.node(number) for number in voters.others]
    for log in logs:
        log.blocked = "a failed write is being undone"
        assert not log.writes
        assert log.on_progress is not None
        log.on_progress()
    voters.kill_leader()
    voters.run(10)
    assert voters.leader() is None
    for number, log in zip(voters.others, logs, strict=True):
        log.blocked = None
        assert log.on_progress is not None
        voters.world.sites[number].machine.turn(lambda _: log.on_progress())  # noqa: B023
    voters.wait(lambda: voters.leader() is not None)
    assert [voters.node(number) for number in voters.others] == lives


def test_a_piece_of_a_snapshot_may_come_again() -> None:
    files = MemoryFiles()
    snapshots, name = SnapshotFiles("/data"), SnapshotId(7, 1)
    files.disk.folders.add("/data")
    path = f"/data/{7:020d}-{1:010d}.checkpoint.part"
    drive(files, snapshots.write_chunk(name, 0, b"abcd"))
    files.disk.names[path].live += b"e"
    drive(files, snapshots.write_chunk(name, 4, b"efgh"))
    assert files.content(path) == b"abcdefgh"
    drive(files, snapshots.write_chunk(name, 0, b"ab"))
    assert files.content(path) == b"ab"


METADATA = f"{FOLDER}/"
SOON_SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000"}


def is_rename(op: FileOp) -> bool:
    return isinstance(op, Rename) and op.path.startswith(METADATA) and op.path.endswith(".checkpoint")


def is_new_log(op: FileOp) -> bool:
    if not isinstance(op, Append) or op.data:
        return False
    return op.file.path.startswith(METADATA) and op.file.path.endswith(".log")


def left_behind() -> tuple[Town, int]:
    """A cluster, and a machine that is down, for which the others have nothing left but a snapshot."""
    town = Town(3, ClusterNodes(3, SOON_SNAPSHOTS))
    town.boot(1, 2, 3)
    victim = next(number for number in town.world.sites if number != town.leader)
    known = town.node(victim).quorum.log.end_offset
    town.world.sites[victim].machine.crash()
    numbers = count()
    while town.node(town.leader).quorum.log.start_offset <= known:
        assert town.create(town.leader, f"t{next(numbers)}", replicas=2) == 0
    return town, victim


def refuse(town: Town, number: int, is_refused: Callable[[FileOp], bool]) -> list[FileOp]:
    """From now on a disk has no room for certain operations; gives those that found none. Clear it to end this."""
    disk, refused = town.world.sites[number].disk, list[FileOp]([Pause()])
    honest = disk.perform

    def perform(op: FileOp, done: Done) -> object:
        if not refused or not is_refused(op):
            return honest(op, done)
        refused.append(op)
        return FileFailure(errno.ENOSPC, "no space left on device")

    disk.perform = perform  # type: ignore[method-assign]  # a disk to be worked on
    return refused


@pytest.mark.parametrize("is_refused", [is_rename, is_new_log])
def test_a_snapshot_is_installed_when_there_is_room(
    is_refused: Callable[[FileOp], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    town, victim = left_behind()
    monkeypatch.setattr(Node, "log", lambda self, level, component, text, kind="": lines.append(text))
    refused = refuse(town, victim, is_refused)
    town.world.boot([victim])
    town.wait(lambda: len(refused) > 3)
    node = town.node(victim)
    assert node.state != "failed"
    assert node.metrics.metadata_snapshots_installed == 0
    assert len([line for line in lines if "will be tried again" in line]) == 1, lines
    refused.clear()
    town.wait(lambda: node.metrics.metadata_snapshots_installed == 1)
    town.wait(lambda: node.state == "running" and node.image.offset >= town.node(town.leader).image.offset - 1)
    assert town.node(victim) is node, "nobody was started anew"
    assert town.create(town.leader, "after", replicas=3) == 0


def test_who_waits_for_room_can_be_stopped() -> None:
    town, victim = left_behind()
    refused = refuse(town, victim, is_new_log)
    town.world.boot([victim])
    town.wait(lambda: len(refused) > 1)
    node = town.node(victim)
    town.wait(lambda: len(refused) > 3)
    assert town.node(victim) is node
    town.world.sites[victim].machine.turn(lambda _: node.stop())
    town.wait(lambda: node.state == "stopped")
