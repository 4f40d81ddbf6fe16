"""Topics, partitions, settings and producer ids in a cluster of several brokers."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.configs import DELETE, SET, plan_increment
from penstock.core.metadata.image import BROKER_RESOURCE, NO_LEADER, TOPIC_RESOURCE
from penstock.core.metadata.producer_ids import PRODUCER_ID_MAX, plan_producer_ids
from penstock.core.metadata.rules import MIN_INSYNC_REPLICAS, rules_for
from penstock.core.metadata.topics import active_brokers, plan_partitions, plan_topic
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest
from penstock.core.wire.api.create_partitions import CreatePartitionsAssignment, CreatePartitionsTopic
from penstock.core.wire.api.create_topics import CreatableTopic
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ConfigRecord, PartitionChangeRecord, ProducerIdsRecord
from tests.metadata.cluster import Cluster, directory_of, topic_id


def create(cluster: Cluster, name: str, partitions: int, factor: int) -> None:
    wanted = CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor)
    cluster.apply(plan_topic(cluster.image, cluster.settings, wanted, lambda: topic_id(name)).records())


def grow(cluster: Cluster, name: str, count: int, *assignments: list[int]) -> None:
    given = [CreatePartitionsAssignment(broker_ids=replicas) for replicas in assignments] or None
    wanted = CreatePartitionsTopic(name=name, count=count, assignments=given)
    cluster.apply(plan_partitions(cluster.image, wanted))


def test_a_new_topic_is_spread_over_racks_and_hosts() -> None:
    cluster = Cluster()
    for broker in range(1, 9):
        cluster.join(broker, rack=f"rack{broker % 2}", host=f"host{broker % 4}")
    create(cluster, "t", 16, 2)
    for index in range(16):
        first, second = (cluster.broker(replica) for replica in cluster.partition("t", index).replicas)
        assert first.rack != second.rack
    create(cluster, "u", 16, 4)
    for index in range(16):
        hosts = {cluster.broker(replica).host for replica in cluster.partition("u", index).replicas}
        assert len(hosts) == 4
    assert set(cluster.image.tally.leading.values()) == {4}


def test_replicas_that_are_not_alive_are_placed_but_not_in_sync() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.beat(3, want_fence=True)
    create(cluster, "t", 3, 3)
    for index in range(3):
        found = cluster.partition("t", index)
        assert set(found.replicas) == {1, 2, 3}
        assert set(found.isr) == {1, 2}
        assert found.leader in (1, 2)
        assert found.directories == tuple(directory_of(each) for each in found.replicas)
    assert active_brokers(cluster.image) == [1, 2]


def test_partitions_that_are_added_keep_the_topic_even() -> None:
    cluster = Cluster([1, 2, 3, 4])
    create(cluster, "t", 2, 2)
    grow(cluster, "t", 8)
    counts = Counter(replica for index in range(8) for replica in cluster.partition("t", index).replicas)
    assert set(counts.values()) == {4}
    grow(cluster, "t", 9, [2, 1])
    assert cluster.partition("t", 8).replicas == (2, 1)


def test_nobody_alive_is_no_place() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1])
    cluster.beat(1, want_fence=True)
    with pytest.raises(ApiError) as manual:
        cluster.create("u", [1])
    assert manual.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    with pytest.raises(ApiError, match="controlled shutdown"):
        grow(cluster, "t", 2, [1])
    cluster.beat(2, want_fence=True)
    with pytest.raises(ApiError) as placed:
        create(cluster, "u", 1, 1)
    assert placed.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_the_number_of_in_sync_replicas_is_the_topics_then_the_clusters_then_the_files() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3])
    topic = cluster.image.topic("t")
    assert topic is not None

    def found() -> int:
        return rules_for(cluster.image, cluster.settings, topic).min_insync

    assert found() == 1
    cluster.apply([ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name=MIN_INSYNC_REPLICAS, value="2")])
    assert found() == 2
    cluster.configure("t", min_insync_replicas="5")
    assert found() == 3, "never more than there are"


def test_another_number_of_in_sync_replicas_clears_the_eligible_leaders() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2], min_insync_replicas="2")
    cluster.create("u", [1, 2], min_insync_replicas="2")
    cluster.beat(2, want_fence=True)
    assert cluster.partition("t").standing.elr == cluster.partition("u").standing.elr == (2,)
    changes = [(SET, MIN_INSYNC_REPLICAS, "1")]
    epoch = cluster.partition("t").partition_epoch
    cluster.apply(plan_increment(cluster.image, cluster.settings, TOPIC_RESOURCE, "t", changes))
    assert cluster.partition("t").standing.elr == ()
    assert cluster.partition("t").partition_epoch == epoch + 1
    assert cluster.partition("u").standing.elr == (2,)
    cluster.apply(plan_increment(cluster.image, cluster.settings, BROKER_RESOURCE, "", changes))
    assert cluster.partition("u").standing.elr == (2,), "it has a number of its own"


def test_eligible_leaders_stay_where_nothing_is_acknowledged_without_them() -> None:
    """Of a partition that nobody leads they are all that is left."""
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3], [3, 2, 1], min_insync_replicas="3")
    for broker in (1, 2):
        cluster.beat(broker, want_fence=True)
    assert [cluster.partition("t", index).standing.elr for index in (0, 1)] == [(1, 2), (1, 2)]

    def change(value: str) -> list[StoredRecord]:
        operations = [(SET, MIN_INSYNC_REPLICAS, value)]
        return cluster.apply(plan_increment(cluster.image, cluster.settings, TOPIC_RESOURCE, "t", operations))

    change("2")
    assert [cluster.partition("t", index).standing.elr for index in (0, 1)] == [(1, 2), (1, 2)]
    cluster.beat(3, want_fence=True)
    assert cluster.partition("t").leader == NO_LEADER
    change("1")
    assert cluster.partition("t").standing.elr == (1, 2, 3)
    cluster.beat(2)
    assert cluster.partition("t").leader == 2


def test_eligible_leaders_go_only_where_others_acknowledge_without_them() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2], [2, 3], min_insync_replicas="2")
    cluster.beat(2, want_fence=True)
    cluster.beat(3, want_fence=True)
    assert [cluster.partition("t", index).standing.elr for index in (0, 1)] == [(2,), (2, 3)]
    operations = [(SET, MIN_INSYNC_REPLICAS, "1")]
    cluster.apply(plan_increment(cluster.image, cluster.settings, TOPIC_RESOURCE, "t", operations))
    assert [cluster.partition("t", index).standing.elr for index in (0, 1)] == [(), (2, 3)]


@pytest.mark.parametrize(("broker", "operation", "value"), [("1", SET, "2"), ("", DELETE, None)])
def test_with_eligible_leaders_the_number_cannot_be_a_brokers(broker: str, operation: int, value: str | None) -> None:
    cluster = Cluster([1])
    cluster.apply([ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name=MIN_INSYNC_REPLICAS, value="1")])
    with pytest.raises(ApiError, match="ELR is enabled"):
        plan_increment(
            cluster.image, cluster.settings, BROKER_RESOURCE, broker, [(operation, MIN_INSYNC_REPLICAS, value)]
        )


def test_producer_ids_are_given_in_blocks_that_do_not_meet() -> None:
    cluster = Cluster([1, 2])
    starts = []
    for broker in (1, 2, 1):
        request = AllocateProducerIdsRequest(broker_id=broker, broker_epoch=cluster.broker(broker).epoch)
        records, answer = plan_producer_ids(cluster.image, request)
        cluster.apply(records)
        starts.append((answer.producer_id_start, answer.producer_id_len))
    assert starts == [(0, 1000), (1000, 1000), (2000, 1000)]
    with pytest.raises(ApiError) as stale:
        plan_producer_ids(cluster.image, AllocateProducerIdsRequest(broker_id=1, broker_epoch=99))
    assert stale.value.code is ErrorCode.STALE_BROKER_EPOCH
    cluster.apply([ProducerIdsRecord(next_producer_id=PRODUCER_ID_MAX - 999)])
    with pytest.raises(ApiError, match="given away"):
        plan_producer_ids(cluster.image, AllocateProducerIdsRequest(broker_id=1, broker_epoch=cluster.broker(1).epoch))


def test_a_change_to_a_partition_of_nobody_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="unknown topic id"):
        Cluster().apply([PartitionChangeRecord(topic_id=topic_id("nobody"), partition_id=0)])
