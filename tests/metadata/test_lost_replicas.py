"""AssignReplicasToDirs: a replica that has lost what it had is not counted on, as long as others have everything."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.brokers import LOST_DIRECTORY
from penstock.core.metadata.lost_replicas import plan_losses
from penstock.core.wire.api.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)
from tests.metadata.cluster import Cluster, directory_of, topic_id
from tests.metadata.test_alter_partition import alter


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster([1, 2, 3, 4])
    found.create("t", [1, 2, 3])
    return found


def lose(
    cluster: Cluster,
    broker: int,
    topic: str = "t",
    index: int = 0,
    epoch: int | None = None,
    directory: bytes = LOST_DIRECTORY,
) -> int:
    """Say that a broker's replica is lost; the records are applied."""
    partitions = [RequestPartitionData(partition_index=index)] * 2
    topics = [RequestTopicData(topic_id=topic_id(topic), partitions=partitions)]
    request = AssignReplicasToDirsRequest(
        broker_id=broker,
        broker_epoch=cluster.image.brokers[broker].epoch if epoch is None else epoch,
        directories=[RequestDirectoryData(id=directory, topics=topics)],
    )
    records, answer = plan_losses(cluster.image, cluster.settings, request)
    cluster.apply(records)
    first, second = answer.directories[0].topics[0].partitions
    assert first.error_code == second.error_code
    return first.error_code


def test_a_follower_leaves_in_a_new_epoch_of_the_same_leader(cluster: Cluster) -> None:
    assert lose(cluster, 3) == ErrorCode.NONE
    after = cluster.partition()
    assert (after.leader, after.leader_epoch, after.isr, after.standing.elr) == (1, 1, (1, 2), ())


def test_a_leader_is_replaced(cluster: Cluster) -> None:
    assert lose(cluster, 1) == ErrorCode.NONE
    after = cluster.partition()
    assert (after.leader, after.leader_epoch, after.isr) == (2, 1, (2, 3))


def test_it_is_no_eligible_leader_either(cluster: Cluster) -> None:
    cluster.configure("t", min_insync_replicas="3")
    alter(cluster, [1, 2])
    assert cluster.partition().standing.elr == (3,)
    assert lose(cluster, 3) == ErrorCode.NONE
    assert lose(cluster, 2) == ErrorCode.NONE
    after = cluster.partition()
    assert (after.leader, after.isr, after.standing.elr) == (1, (1,), ())


def test_who_is_not_in_sync_gets_a_new_epoch_too(cluster: Cluster) -> None:
    """The leader may be about to let it in, for what it said before."""
    alter(cluster, [1, 2])
    assert lose(cluster, 3) == ErrorCode.NONE
    assert (cluster.partition().leader_epoch, cluster.partition().isr) == (1, (1, 2))


def test_the_only_one_that_has_everything_stays(cluster: Cluster) -> None:
    alter(cluster, [1])
    assert lose(cluster, 1) == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert (cluster.partition().leader, cluster.partition().isr) == (1, (1,))


def test_what_is_not_so_is_refused(cluster: Cluster) -> None:
    assert lose(cluster, 4) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert lose(cluster, 3, index=7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert lose(cluster, 3, topic="other") == ErrorCode.UNKNOWN_TOPIC_ID
    assert lose(cluster, 3, directory=directory_of(3)) == ErrorCode.INVALID_REQUEST
    with pytest.raises(ApiError) as refused:
        lose(cluster, 3, epoch=99_999)
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH
