"""Whom a controller believes to have lost nothing: who stopped cleanly, or was killed while its machine went on."""

from __future__ import annotations

import pytest

from penstock.core.metadata.image import PartitionImage
from penstock.core.node.storage.lineage import LINEAGE_FILE
from penstock.core.wire.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.sim.scheduler import SECOND
from penstock.sim.world import DATA
from tests.node.controller.nodes import Nodes

LEADER, FOLLOWER, VOTER = 1, 3, 2
NOBODY = -1
SHORT, LONG = SECOND, 60 * SECOND


def with_two_copies() -> Nodes:
    """A partition on two of three nodes, so that there is a controller even when both are gone."""
    cluster = Nodes()
    topic = CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[LEADER, FOLLOWER])],
        configs=[CreatableTopicConfig(name="min.insync.replicas", value="2")],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=20_000)
    assert cluster.ask(VOTER, request).topics[0].error_code == 0
    cluster.wait(lambda: all(cluster.node(each).replicas.get("t", 0) is not None for each in (LEADER, FOLLOWER)))
    cluster.wait(lambda: set(partition(cluster).isr) == {LEADER, FOLLOWER})
    return cluster


def partition(cluster: Nodes) -> PartitionImage:
    topic = cluster.node(VOTER).image.topic("t")
    return PartitionImage((), (), NOBODY, 0, 0) if topic is None else topic.partition(0)


def is_believed(cluster: Nodes) -> bool:
    """Whether the follower leads when it is back, and its leader is gone for long."""
    cluster.wait(lambda: partition(cluster).isr == (LEADER,))
    assert partition(cluster).standing.elr == (FOLLOWER,)
    cluster.world.sites[LEADER].power_loss(LONG)
    cluster.wait(lambda: cluster.world.sites[FOLLOWER].machine.running)
    epoch = cluster.node(FOLLOWER).cluster.broker_lifecycle.epoch
    cluster.wait(lambda: cluster.node(VOTER).image.brokers[FOLLOWER].epoch == epoch)
    cluster.wait(lambda: partition(cluster).leader in (NOBODY, FOLLOWER))
    cluster.world.scheduler.run_until(cluster.world.scheduler.now_us + 10 * SECOND)
    return partition(cluster).leader == FOLLOWER


def test_who_was_killed_may_lead_again() -> None:
    cluster = with_two_copies()
    cluster.world.sites[FOLLOWER].crash(SHORT)
    assert is_believed(cluster)


def test_who_was_killed_twice_may_lead_again() -> None:
    cluster = with_two_copies()
    site = cluster.world.sites[FOLLOWER]
    site.crash(SHORT)
    cluster.wait(lambda: site.node is not None)
    site.crash(SHORT)
    assert is_believed(cluster)


def test_who_lost_its_power_may_not() -> None:
    cluster = with_two_copies()
    cluster.world.sites[FOLLOWER].power_loss(SHORT)
    assert not is_believed(cluster)


def test_who_lost_its_power_while_it_was_down_may_not() -> None:
    cluster = with_two_copies()
    site = cluster.world.sites[FOLLOWER]
    site.crash(LONG)
    site.power_loss(SHORT)
    assert not is_believed(cluster)


def test_who_failed_to_sync_may_not() -> None:
    cluster = with_two_copies()
    site = cluster.world.sites[FOLLOWER]
    volume, process = site.disk.volume, site.node
    volume.syncs_to_fail = 1
    cluster.wait(lambda: volume.syncs_to_fail == 0)
    # It may end before the disk has taken its note away: what is outside of the disk went at once.
    cluster.wait(lambda: site.node is not process or volume.platter.find(f"{DATA}/{LINEAGE_FILE}") is None)
    if site.node is process:
        site.crash(SHORT)
    assert not is_believed(cluster)


def test_who_failed_to_sync_and_stopped_in_good_order_may_not() -> None:
    cluster = with_two_copies()
    site = cluster.world.sites[FOLLOWER]
    site.machine.turn(lambda _: cluster.node(FOLLOWER).tasks.on_disk_failed())
    site.shut_down()
    cluster.wait(lambda: site.node is None)
    assert not is_believed(cluster)


@pytest.mark.parametrize("is_damaged", [False, True])
def test_whose_log_is_damaged_may_not(is_damaged: bool) -> None:
    cluster = with_two_copies()
    site = cluster.world.sites[FOLLOWER]
    site.crash(SHORT)
    size = 200 if is_damaged else 20
    path = f"{DATA}/t-0/{0:020d}.log"
    site.disk.volume.platter.create(path).written[:] = bytes(size)
    assert is_believed(cluster) is not is_damaged
