"""Nodes whose disks fail: others lead what they led, because a node goes that cannot say what it holds."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure
from penstock.core.log.durable import SyncFailed
from tests.node.controller.nodes import NODES, Nodes
from tests.node.controller.test_detection import in_sync, leaders, produced, serving


def break_log(cluster: Nodes, victim: int, index: int, failure: FileFailure) -> None:
    log = cluster.node(victim).replicas.get("t", index).log
    cluster.world.sites[victim].machine.turn(lambda _: log.fail(failure))


@pytest.mark.parametrize("leads", [False, True])
@pytest.mark.parametrize("of_the_controller", [False, True])
def test_others_go_on_without_a_node_that_failed_to_sync(of_the_controller: bool, leads: bool) -> None:
    cluster = serving()
    victim = cluster.controller if of_the_controller else cluster.other
    index = next(each for each, leader in enumerate(leaders(cluster, victim)) if (leader == victim) is leads)
    before = cluster.node(victim)
    break_log(cluster, victim, index, SyncFailed(errno.EIO, "input/output error"))
    assert before.lineage.is_doubtful
    took = cluster.wait(lambda: before.state == "failed")
    assert before.failure is not None
    assert "start it again" in before.failure
    others = [each for each in NODES if each != victim]
    took += cluster.wait(lambda: all(victim not in in_sync(cluster, each, index) for each in others))
    assert took < 3
    leader = leaders(cluster, others[0])[index]
    cluster.wait(lambda: leaders(cluster, leader)[index] == leader)
    code, took = produced(cluster, leader, index)
    assert code == ErrorCode.NONE
    assert took < 2
    cluster.wait(lambda: set(in_sync(cluster, leader, index)) == set(NODES))
    assert cluster.node(victim) is not before


def test_where_there_was_no_room_the_node_stays() -> None:
    cluster = serving()
    victim = cluster.other
    before = cluster.node(victim)
    break_log(cluster, victim, 0, FileFailure(errno.ENOSPC, "no space left on device"))
    cluster.world.scheduler.run_until(cluster.world.scheduler.now_us + 5_000_000)
    assert cluster.node(victim) is before
    assert before.state == "running"
    assert not before.lineage.is_doubtful
