"""Reassignments: replicas that move, from the first record to the last, and back again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import NO_LEADER
from penstock.core.metadata.reassignments import list_reassignments, plan_reassignments
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord
from tests.metadata.cluster import Cluster, directory_of, topic_id
from tests.metadata.test_alter_partition import alter


def reassign(
    cluster: Cluster, *targets: list[int] | None, name: str = "t", index: int = 0, may_resize: bool = True
) -> list[int]:
    wanted = [ReassignablePartition(partition_index=index, replicas=target) for target in targets]
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_resize, topics=[ReassignableTopic(name=name, partitions=wanted)]
    )
    records, answer = plan_reassignments(cluster.image, cluster.settings, request)
    cluster.apply(records)
    return [partition.error_code for partition in answer.responses[0].partitions]


def moving(cluster: Cluster, *topics: ListPartitionReassignmentsTopics) -> list[tuple[str, int]]:
    request = ListPartitionReassignmentsRequest(topics=list(topics) or None)
    answer = list_reassignments(cluster.image, request)
    return [(topic.name, each.partition_index) for topic in answer.topics for each in topic.partitions]


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster([1, 2, 3, 4, 5])
    found.create("t", [1, 2, 3])
    return found


def test_a_move_from_beginning_to_end(cluster: Cluster) -> None:
    assert reassign(cluster, [4, 5, 1]) == [0]
    found = cluster.partition()
    assert (found.replicas, found.standing.adding, found.standing.removing) == ((4, 5, 1, 2, 3), (4, 5), (2, 3))
    assert (found.isr, found.leader, found.leader_epoch) == ((1, 2, 3), 1, 0)
    assert found.directories == tuple(directory_of(each) for each in (4, 5, 1, 2, 3))
    assert moving(cluster) == [("t", 0)]
    alter(cluster, [1, 2, 3, 4])
    assert cluster.partition().is_reassigning
    alter(cluster, [1, 2, 3, 4, 5])
    found = cluster.partition()
    assert (found.replicas, found.isr, found.leader) == ((4, 5, 1), (1, 4, 5), 1)
    assert found.leader_epoch == 1, "those that went must notice"
    assert found.directories == tuple(directory_of(each) for each in (4, 5, 1))
    assert moving(cluster) == []


def test_another_order_needs_no_move(cluster: Cluster) -> None:
    assert reassign(cluster, [3, 1, 2]) == [0]
    assert cluster.partition().replicas == (3, 1, 2)
    assert not cluster.partition().is_reassigning
    assert reassign(cluster, [3, 1, 2]) == [0]
    assert cluster.partition().partition_epoch == 1, "what is so already is no change"


def test_fewer_replicas_wait_until_those_that_stay_are_in_sync(cluster: Cluster) -> None:
    alter(cluster, [1, 3])
    assert reassign(cluster, [1, 2]) == [0]
    assert cluster.partition().standing.removing == (3,)
    alter(cluster, [1, 2, 3])
    assert (cluster.partition().replicas, cluster.partition().isr) == ((1, 2), (1, 2))


def test_a_move_can_be_cancelled(cluster: Cluster) -> None:
    before = cluster.partition()
    assert reassign(cluster, None) == [ErrorCode.NO_REASSIGNMENT_IN_PROGRESS]
    reassign(cluster, [4, 5, 1])
    alter(cluster, [1, 2, 3, 4])
    assert reassign(cluster, None) == [0]
    found = cluster.partition()
    assert (set(found.replicas), found.isr, found.leader) == (set(before.replicas), (1, 2, 3), 1)
    assert not found.is_reassigning


def test_going_back_may_need_an_unclean_election(cluster: Cluster) -> None:
    reassign(cluster, [4])
    change = PartitionChangeRecord(topic_id=topic_id("t"), partition_id=0, isr=[4], leader=4, removing_replicas=[1, 2])
    cluster.apply([change])
    assert reassign(cluster, None) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    cluster.configure("t", unclean_leader_election_enable="true")
    assert reassign(cluster, None) == [0]
    assert cluster.partition().leader in (1, 2, 3)


def test_another_target_drops_who_was_on_its_way(cluster: Cluster) -> None:
    reassign(cluster, [4, 2, 3])
    assert reassign(cluster, [5, 2, 3]) == [0]
    found = cluster.partition()
    assert (found.replicas, found.standing.adding, found.standing.removing) == ((5, 2, 3, 1), (5,), (1,))
    assert reassign(cluster, [1, 2, 3]) == [0]
    assert (cluster.partition().replicas, cluster.partition().is_reassigning) == ((1, 2, 3), False)


def test_a_move_ends_leadership_only_when_it_is_complete(cluster: Cluster) -> None:
    reassign(cluster, [4, 2, 3])
    assert cluster.partition().leader == 1
    assert alter(cluster, [1, 2, 3, 4]).error_code == ErrorCode.NEW_LEADER_ELECTED
    assert cluster.partition().leader == 4


def test_a_broker_that_dies_may_complete_a_move(cluster: Cluster) -> None:
    reassign(cluster, [4, 2, 3])
    cluster.beat(1, want_fence=True)
    assert cluster.partition().leader != NO_LEADER
    assert cluster.partition().is_reassigning, "4 is not in sync yet"
    alter(cluster, [2, 3, 4], broker=cluster.partition().leader)
    assert (cluster.partition().replicas, cluster.partition().is_reassigning) == ((4, 2, 3), False)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 9], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_targets_must_make_sense(cluster: Cluster, target: list[int], code: ErrorCode) -> None:
    assert reassign(cluster, target) == [code]


def test_what_does_not_exist_cannot_move(cluster: Cluster) -> None:
    assert reassign(cluster, [1], name="nobody") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert reassign(cluster, [1], index=7) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert reassign(cluster, [4, 2, 3], [5, 2, 3]) == [0, ErrorCode.INVALID_REQUEST]


def test_the_number_of_replicas_stays_where_that_is_asked_for(cluster: Cluster) -> None:
    assert reassign(cluster, [1, 2], may_resize=False) == [ErrorCode.INVALID_REPLICATION_FACTOR]
    assert reassign(cluster, [4, 2, 3], may_resize=False) == [0]
    assert reassign(cluster, [4, 5], may_resize=False) == [ErrorCode.INVALID_REPLICATION_FACTOR]
    assert reassign(cluster, [4, 5, 3], may_resize=False) == [0]


def test_moves_are_listed_by_name_or_all(cluster: Cluster) -> None:
    cluster.create("u", [1, 2], [2, 3])
    reassign(cluster, [4, 2], name="u")
    reassign(cluster, [4, 2, 3])
    assert sorted(moving(cluster)) == [("t", 0), ("u", 0)]
    named = ListPartitionReassignmentsTopics(name="u", partition_indexes=[0, 1, 7])
    assert moving(cluster, named) == [("u", 0)]
    assert moving(cluster, ListPartitionReassignmentsTopics(name="nobody", partition_indexes=[0])) == []


TARGETS = st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True)


@given(st.lists(st.tuples(TARGETS | st.none(), st.sets(st.integers(1, 5))), max_size=6))
def test_a_partition_that_moves_never_loses_its_leader(moves: list[tuple[list[int] | None, set[int]]]) -> None:
    """Whatever is asked for, whoever comes into sync: somebody in sync leads, and the last target is reached."""
    cluster = Cluster([1, 2, 3, 4, 5])
    cluster.create("t", [1, 2, 3])
    target: list[int] = [1, 2, 3]
    for wanted, caught_up in moves:
        codes = reassign(cluster, wanted)
        if wanted is not None and codes == [0]:
            target = wanted
        _catch_up(cluster, caught_up)
    final = target if moves and moves[-1][0] is not None else None
    _catch_up(cluster, {1, 2, 3, 4, 5})
    assert not cluster.partition().is_reassigning
    if final is not None:
        assert cluster.partition().replicas == tuple(final)
    assert set(cluster.partition().isr) == set(cluster.partition().replicas)


def _catch_up(cluster: Cluster, who: set[int]) -> None:
    for _ in range(2):
        found = cluster.partition()
        assert found.leader in found.isr
        assert set(found.isr) <= set(found.replicas)
        isr = sorted({found.leader, *found.isr, *(who & set(found.replicas))})
        alter(cluster, isr, broker=found.leader)
