"""Replication on whole nodes, in the simulator: a partition moves from machine to machine, and survives its leader."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.partition.follower import Follower
from penstock.core.partition.leader import Leader
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.settings_act.town import MACHINES, Town
from tests.settings_act.trial import Place, Trial

BATCHES = 20
BATCH_BYTES = 5_000


def town() -> Town:
    return Town(Trial("broker.rack", None, Place.FILE)).begin()


def replica(cluster: Town, number: int) -> Partition | None:
    return cluster.node(number).replicas.get("t", 0)


def roles(cluster: Town) -> dict[int, type[Partition]]:
    found = {number: replica(cluster, number) for number in MACHINES}
    return {number: type(each) for number, each in found.items() if each is not None}


def move(cluster: Town, *replicas: int) -> None:
    wanted = ReassignablePartition(partition_index=0, replicas=list(replicas))
    topics = [ReassignableTopic(name="t", partitions=[wanted])]
    cluster.ask(cluster.controller, AlterPartitionReassignmentsRequest(timeout_ms=5_000, topics=topics))
    cluster.wait(lambda: cluster.partition().replicas == replicas and cluster.partition().isr == replicas)
    cluster.wait(lambda: sorted(roles(cluster)) == sorted(replicas))


def test_a_partition_moves_with_all_it_has_and_leaves_nothing_behind() -> None:
    cluster = town()
    cluster.create(1)
    for _ in range(BATCHES):
        assert cluster.append(1, BATCH_BYTES) == 0
    assert roles(cluster) == {1: Leader}
    move(cluster, 1, 2)
    assert roles(cluster) == {1: ReplicatedLeader, 2: Follower}
    assert cluster.append(1) == 0
    move(cluster, 2, 3)
    cluster.wait(lambda: roles(cluster) == {2: ReplicatedLeader, 3: Follower})
    assert cluster.append(1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.append(3) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    move(cluster, 3)
    cluster.wait(lambda: roles(cluster) == {3: Leader})
    last = replica(cluster, 3)
    assert last is not None
    assert last.high_watermark == BATCHES + 1


def test_what_was_acknowledged_is_there_when_its_leader_is_not() -> None:
    cluster = town()
    first, second = cluster.others
    cluster.create(first, second, cluster.controller)
    for _ in range(BATCHES):
        assert cluster.append(first) == 0
    cluster.crash(first)
    cluster.wait(lambda: cluster.partition().leader == second)
    cluster.wait(lambda: roles_of(cluster, second) is ReplicatedLeader)
    assert cluster.append(second) == 0
    cluster.boot(first)
    cluster.wait(lambda: len(cluster.partition().isr) == len(MACHINES))
    ends = {number: end_of(cluster, number) for number in MACHINES}
    assert set(ends.values()) == {BATCHES + 1}


def roles_of(cluster: Town, number: int) -> type[Partition]:
    return type(replica(cluster, number))  # type: ignore[return-value]  # of None, too


def end_of(cluster: Town, number: int) -> int:
    found = replica(cluster, number)
    return -1 if found is None else found.log.end_offset


def fetch_code(cluster: Town, number: int, offset: int) -> int:
    """What a reader hears that asks for an offset."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
    topic = FetchTopic(topic_id=cluster.topic_id, partitions=[partition])
    code: int = cluster.ask(number, FetchRequest(max_wait_ms=0, topics=[topic])).responses[0].partitions[0].error_code
    return code


def test_a_leader_that_may_be_deposed_calls_no_offset_out_of_range() -> None:
    """Others may have appended since: who reads there must ask them, and not begin anew."""
    cluster = town()
    first, second = cluster.others
    cluster.create(first, second, cluster.controller)
    assert cluster.append(first) == 0
    assert fetch_code(cluster, first, 7) == ErrorCode.OFFSET_OUT_OF_RANGE
    cluster.separate(first, second)
    cluster.separate(first, cluster.controller)
    cluster.wait(lambda: cluster.partition().leader != first)
    assert fetch_code(cluster, first, 7) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetch_code(cluster, first, 0) == ErrorCode.NONE


def test_a_follower_calls_nothing_out_of_range_that_may_still_come() -> None:
    cluster = town()
    first, second = cluster.others
    cluster.create(first, second)
    assert cluster.append(first) == 0
    assert fetch_code(cluster, second, 7) == ErrorCode.OFFSET_NOT_AVAILABLE
