"""Damage that a running node of a cluster comes upon: it leaves the in-sync set and takes what it lost from another."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.log.damage import DAMAGE_FILE
from penstock.core.log.log import Log
from penstock.core.node.health_check import complaints
from tests.node.controller.nodes import NODES, Nodes
from tests.node.controller.test_detection import in_sync, leaders, produced, serving

INDEX = 0
MAGIC_AT = 16


def with_segments(values: int = 3) -> tuple[Nodes, int]:
    """A partition with a batch in each segment, on all nodes; and who leads it."""
    cluster = serving()
    leader = leaders(cluster, 1)[INDEX]
    cluster.wait(lambda: cluster.node(leader).replicas.get("t", INDEX) is not None)
    for _ in range(values):
        assert produced(cluster, leader, INDEX)[0] == ErrorCode.NONE
        cluster.wait(lambda: is_equal(cluster))
        for each in NODES:
            turn_log(cluster, each)
    assert produced(cluster, leader, INDEX)[0] == ErrorCode.NONE
    cluster.wait(lambda: is_equal(cluster))
    cluster.wait(lambda: all(each.is_durable for number in NODES for each in log_of(cluster, number).segments[:-1]))
    return cluster, leader


def log_of(cluster: Nodes, number: int) -> Log:
    found = cluster.node(number).replicas.get("t", INDEX)
    assert found is not None
    return found.log


def turn_log(cluster: Nodes, number: int) -> None:
    log, now_ms = log_of(cluster, number), cluster.node(number).now_ms
    cluster.world.sites[number].machine.turn(lambda _: log.roll(now_ms))


def written(cluster: Nodes, number: int, base_offset: int) -> bytearray:
    path = f"/data/t-{INDEX}/{base_offset:020d}.log"
    return cluster.world.sites[number].disk.volume.platter.file(path).written


def is_equal(cluster: Nodes) -> bool:
    """Whether every node has every record."""
    if any(cluster.node(each).replicas.get("t", INDEX) is None for each in NODES):
        return False
    ends = {log_of(cluster, each).written_offset for each in NODES}
    return len(ends) == 1 and len({records(cluster, each) for each in NODES}) == 1


def records(cluster: Nodes, number: int) -> bytes:
    """What all segments hold: in which of them a batch is differs."""
    bases = [each.base_offset for each in log_of(cluster, number).segments if each.size_bytes]
    return b"".join(bytes(written(cluster, number, base)) for base in bases)


def read(cluster: Nodes, number: int, offset: int) -> None:
    """Somebody reads there; what becomes of that does not matter."""
    node, log = cluster.node(number), log_of(cluster, number)
    steps = log.read(offset, 1 << 20, log.end_offset, True)
    cluster.world.sites[number].machine.turn(lambda _: node.tasks.run(steps, lambda outcome: None))


@pytest.mark.parametrize("at", [0, 1], ids=["first segment", "later segment"])
@pytest.mark.parametrize("leads", [False, True], ids=["follower", "leader"])
def test_a_damaged_replica_takes_what_it_lost_from_another(leads: bool, at: int) -> None:
    cluster, leader = with_segments()
    victim = leader if leads else next(each for each in NODES if each != leader)
    before, epoch = records(cluster, leader), cluster.node(leader).image.topic("t").partition(INDEX).leader_epoch
    written(cluster, victim, at)[MAGIC_AT] ^= 1
    read(cluster, victim, at)
    cluster.wait(lambda: bool(list(complaints(cluster.node(victim)))))
    cluster.wait(lambda: not list(complaints(cluster.node(victim))))
    cluster.wait(lambda: is_equal(cluster) and set(in_sync(cluster, victim, INDEX)) == set(NODES))
    assert records(cluster, victim) == before
    now = cluster.node(victim).image.topic("t").partition(INDEX)
    assert now.leader_epoch > epoch, "what it said before must not bring it back in sync"
    assert (now.leader == leader) is not leads
    platter = cluster.world.sites[victim].disk.volume.platter
    cluster.wait(lambda: platter.find(f"/data/t-{INDEX}/{DAMAGE_FILE}") is None)
    assert produced(cluster, now.leader, INDEX)[0] == ErrorCode.NONE


@pytest.mark.parametrize("leads", [False, True], ids=["follower", "leader"])
def test_damage_in_the_active_segment_is_healed_too(leads: bool) -> None:
    cluster, leader = with_segments(0)
    for _ in range(2):
        assert produced(cluster, leader, INDEX)[0] == ErrorCode.NONE
    cluster.wait(lambda: is_equal(cluster))
    victim = leader if leads else next(each for each in NODES if each != leader)
    before = records(cluster, leader)
    assert len(log_of(cluster, victim).segments) == 1
    written(cluster, victim, 0)[MAGIC_AT] ^= 1
    read(cluster, victim, 0)
    cluster.wait(lambda: records(cluster, victim) == before and len(set(in_sync(cluster, victim, INDEX))) == len(NODES))
    cluster.wait(lambda: not list(complaints(cluster.node(victim))))
    now = cluster.node(victim).image.topic("t").partition(INDEX)
    assert (now.leader == leader) is not leads
    assert produced(cluster, now.leader, INDEX)[0] == ErrorCode.NONE
    cluster.wait(lambda: is_equal(cluster))


def test_nothing_is_cut_while_nobody_else_is_there() -> None:
    cluster, leader = with_segments()
    others = [each for each in NODES if each != leader]
    for each in others:
        cluster.world.sites[each].pause()
    before = records(cluster, leader)
    size = log_of(cluster, leader).size_bytes()
    written(cluster, leader, 1)[MAGIC_AT] ^= 1
    read(cluster, leader, 1)
    cluster.world.scheduler.run_until(cluster.world.scheduler.now_us + 20_000_000)
    assert log_of(cluster, leader).size_bytes() == size
    for each in others:
        cluster.world.sites[each].resume()
    cluster.wait(lambda: is_equal(cluster) and records(cluster, leader) == before)
