"""The faults behind the alerts move the metrics that these look at, and nothing else does: on real nodes in the
simulated world, and on one over a disk in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as plain_families

from penstock.core.base.steps import at_once
from penstock.core.node.node import Node
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, TopicPartitions
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.shell.exposition.rendering import Exposition
from penstock.sim.cluster import ClusterNodes
from penstock.sim.scheduler import SECOND
from tests.node.controller.nodes import NODES, Nodes
from tests.node.towns import Town
from tests.node.world import World, produce

ALL_WELL = {
    "kafka_server_replicamanager_underreplicatedpartitions": 0,
    "kafka_server_replicamanager_underminisrpartitioncount": 0,
    "kafka_controller_kafkacontroller_offlinepartitionscount": 0,
    "kafka_controller_kafkacontroller_activecontrollercount": 1,
    "kafka_server_replicamanager_isrshrinks_total": 0,
    "penstock_partition_leaderless_seconds_count": 0,
    "penstock_disk_full": 0,
    "penstock_offline_replicas": 0,
    "penstock_damaged_batches": 0,
    "penstock_group_rebalances_total": 0,
    "penstock_dead_letters_total": 0,
}


def told(node: Node) -> dict[str, float]:
    """What stands without labels."""
    text = b"".join(at_once(Exposition(node).render())).decode()
    return {each.name: each.value for family in plain_families(text) for each in family.samples if not each.labels}


def in_all(nodes: Nodes, name: str) -> float:
    """What the nodes say that are there."""
    there = (nodes.world.sites[number].node for number in NODES)
    return sum(told(node)[name] for node in there if isinstance(node, Node) and node.state == "running")


class Cluster(Nodes):
    """With a topic of three replicas, two of which must be in sync, and one that only a node has."""

    def __init__(self) -> None:
        super().__init__(**{"min.insync.replicas": "2"})
        self._make("copied", *((1, 2, 3), (2, 3, 1), (3, 1, 2)))
        self.victim = self.other
        self._make("lone", (self.victim,))
        self.wait(lambda: all(self.node(each).replicas.get("copied", 0) is not None for each in NODES))
        self.wait(lambda: in_all(self, "kafka_server_replicamanager_leadercount") == 4)

    def _make(self, name: str, *replicas: tuple[int, ...]) -> None:
        assigned = [
            CreatableReplicaAssignment(partition_index=at, broker_ids=[*who]) for at, who in enumerate(replicas)
        ]
        topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assigned)
        assert self.ask(1, CreateTopicsRequest(topics=[topic], timeout_ms=20_000)).topics[0].error_code == 0

    def reaches(self, name: str, is_so: Callable[[float], bool]) -> bool:
        self.wait(lambda: is_so(in_all(self, name)))
        return True

    def crash(self, number: int, down_s: int) -> None:
        """It comes back by itself."""
        self.world.sites[number].crash(down_s * SECOND)

    def pass_time(self, seconds: int) -> None:
        self.world.scheduler.run_until(self.world.scheduler.now_us + seconds * SECOND)


def test_all_is_well_where_nothing_happens() -> None:
    cluster = Cluster()
    cluster.pass_time(20)
    assert {name: in_all(cluster, name) for name in ALL_WELL} == ALL_WELL
    assert in_all(cluster, "penstock_controller_missing_seconds") == 0


@pytest.mark.slow
def test_a_broker_that_dies_leaves_partitions_with_copies_missing_and_one_without_a_leader() -> None:
    cluster = Cluster()
    cluster.crash(cluster.victim, down_s=12)
    cluster.reaches("kafka_controller_kafkacontroller_offlinepartitionscount", lambda count: count == 1)
    cluster.reaches("kafka_server_replicamanager_underreplicatedpartitions", lambda count: count == 3)
    assert in_all(cluster, "kafka_server_replicamanager_underminisrpartitioncount") == 0
    assert in_all(cluster, "kafka_server_replicamanager_isrshrinks_total") >= 1
    cluster.wait(cluster.is_serving)
    cluster.reaches("kafka_controller_kafkacontroller_offlinepartitionscount", lambda count: count == 0)
    cluster.reaches("kafka_server_replicamanager_underreplicatedpartitions", lambda count: count == 0)
    assert in_all(cluster, "kafka_server_replicamanager_isrexpands_total") >= 1
    slow = told(cluster.node(cluster.controller))
    assert slow["penstock_partition_leaderless_seconds_count"] == 1
    assert slow["penstock_partition_leaderless_seconds_sum"] > 5


def test_without_a_majority_there_is_no_controller_and_an_election_takes_long() -> None:
    cluster = Cluster()
    left = cluster.other
    gone = [number for number in NODES if number != left]
    for number in gone:
        cluster.crash(number, down_s=12)
    cluster.pass_time(10)
    found = told(cluster.node(left))
    assert found["kafka_controller_kafkacontroller_activecontrollercount"] == 0
    assert found["penstock_controller_missing_seconds"] > 5
    before = found["penstock_controller_election_seconds_sum"]
    cluster.wait(cluster.is_serving)
    cluster.wait(lambda: told(cluster.node(left))["penstock_controller_missing_seconds"] == 0)
    found = told(cluster.node(left))
    assert found["penstock_controller_election_seconds_sum"] - before > 5
    assert in_all(cluster, "kafka_controller_kafkacontroller_activecontrollercount") == 1


def test_a_full_disk_is_told() -> None:
    world = World({"penstock.disk.full.ratio": "0.9"})
    assert told(world.node)["penstock_disk_full"] == 0
    world.files.space_bytes = 1 << 30
    world.pass_time(5_000)
    found = b"".join(at_once(Exposition(world.node).render())).decode()
    assert "\npenstock_disk_full 1\n" in found
    assert f'penstock_disk_free_bytes{{folder="/data"}} {1 << 30}' in found


def test_rebalances_are_counted_and_timed() -> None:
    world = World()
    client = world.client()
    client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"]), 4)
    join: Any = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joined = client.ask(join, 3)
    assert joined.error_code == 0
    found = told(world.node)
    assert found["penstock_group_rebalances_total"] == 1
    assert found["penstock_group_rebalance_seconds_count"] == 0, "nobody has an assignment yet"


def test_dead_letters_are_those_of_topics_with_their_name() -> None:
    world = World()
    world.create("orders")
    world.create("orders.dlq")
    client = world.client()
    client.ask(produce("orders", b"a"), 9)
    assert told(world.node)["penstock_dead_letters_total"] == 0
    client.ask(produce("orders.dlq", b"a", b"b"), 9)
    assert told(world.node)["penstock_dead_letters_total"] == 2


def test_a_node_that_only_controls_tells_what_it_has() -> None:
    town = Town(2, ClusterNodes(2, {}, controllers=1))
    town.boot(1, 2)
    assert town.create(2, "t", 1) == 0
    controller, broker = told(town.node(1)), told(town.node(2))
    assert controller["kafka_controller_kafkacontroller_activecontrollercount"] == 1
    assert controller["kafka_controller_kafkacontroller_globalpartitioncount"] == 2
    assert controller["kafka_server_replicamanager_partitioncount"] == 0
    assert broker["kafka_controller_kafkacontroller_activecontrollercount"] == 0
    assert broker["kafka_server_replicamanager_leadercount"] == 2


def test_counters_go_on_through_every_change_of_role() -> None:
    cluster = Cluster()
    name = 'kafka_server_brokertopicmetrics_bytesin_total{topic="copied"}'

    def taken() -> float:
        text = b"".join(at_once(Exposition(cluster.node(1)).render())).decode()
        (line,) = [each for each in text.splitlines() if each.startswith(name)]
        return float(line.split()[-1])

    # Which partition a node leads changes; that it has taken something does not.
    assert cluster.ask(1, produce("copied", b"a"), version=9).responses[0].partition_responses[0].error_code == 0
    before = taken()
    assert before > 0
    for partition in range(3):
        topics = [TopicPartitions(topic="copied", partitions=[partition])]
        cluster.ask(1, ElectLeadersRequest(election_type=0, topic_partitions=topics, timeout_ms=5_000))
    moved = [ReassignablePartition(partition_index=0, replicas=[2, 3, 1])]
    asked = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="copied", partitions=moved)])
    assert cluster.ask(1, asked).error_code == 0
    cluster.ask(1, ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=5_000))
    cluster.wait(lambda: cluster.node(2).replicas.get("copied", 0).leads)  # type: ignore[union-attr]  # it is there
    assert not cluster.node(1).replicas.get("copied", 0).leads  # type: ignore[union-attr]
    assert taken() == before
