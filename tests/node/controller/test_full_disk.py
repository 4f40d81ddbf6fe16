"""Nodes whose disks are full: others lead what they led, and the metadata too, until there is room again."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from tests.node.controller.nodes import NODES, Nodes
from tests.node.controller.test_detection import in_sync, leaders, produced, serving

TAKES_LITTLE = 10_000
"""Bytes: the metadata still finds room, but the disk counts as full."""


def fill(cluster: Nodes, number: int, free_bytes: int | None) -> None:
    cluster.world.sites[number].disk.volume.free_bytes = free_bytes


def is_relieved(cluster: Nodes, victim: int) -> bool:
    return all(victim not in leaders(cluster, each) for each in NODES if each != victim)


@pytest.mark.parametrize("of_the_controller", [False, True])
@pytest.mark.parametrize("free_bytes", [0, TAKES_LITTLE])
def test_others_lead_while_a_disk_is_full(of_the_controller: bool, free_bytes: int) -> None:
    cluster = serving()
    victim = cluster.controller if of_the_controller else cluster.other
    index = leaders(cluster, victim).index(victim)
    fill(cluster, victim, free_bytes)
    took = cluster.wait(lambda: is_relieved(cluster, victim))
    assert took < 5, "it need not be noticed by anybody who waits"
    leader = leaders(cluster, next(each for each in NODES if each != victim))[index]
    cluster.wait(lambda: leaders(cluster, leader)[index] == leader)
    code, took = produced(cluster, leader, index)
    assert code == ErrorCode.NONE
    assert took < 2.5, "a full disk need not count as slow before"
    if free_bytes:
        assert set(in_sync(cluster, leader, index)) == set(NODES), "who has some room goes on to follow"
    fill(cluster, victim, None)
    cluster.wait(lambda: not cluster.node(leader).image.brokers[victim].is_full)
    cluster.wait(lambda: set(in_sync(cluster, leader, index)) == set(NODES))


def test_a_controller_without_room_for_a_record_lets_another_control() -> None:
    cluster = serving()
    victim = cluster.controller
    fill(cluster, victim, 0)
    cluster.wait(lambda: cluster.has_controller() and cluster.controller != victim)
    fill(cluster, victim, None)
    node = cluster.node(victim)
    cluster.wait(lambda: node.image.offset >= cluster.node(cluster.controller).image.offset - 1)
    assert cluster.node(victim) is node, "nobody was started anew"
