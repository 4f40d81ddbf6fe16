"""Voters whose disks are full: they cannot vote, lead or take anything in, but live, and go on when there is room."""

from __future__ import annotations

from penstock.core.node.node import Node
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.raft.ids import SnapshotId
from penstock.sim.disk import DiskProfile
from penstock.sim.network import NetworkProfile
from penstock.sim.scheduler import SECOND
from penstock.sim.voters.court import Court
from penstock.sim.voters.nodes import VoterNodes
from penstock.sim.world import World
from tests.log.memory_files import MemoryFiles, drive

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
