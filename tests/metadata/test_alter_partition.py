"""AlterPartition: a leader's word about who is in sync, and every reason not to take it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.alter_partition import plan_alteration
from penstock.core.metadata.broker_fencing import unregistering
from penstock.core.metadata.image import RECOVERED, RECOVERING
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord
from tests.metadata.cluster import Cluster, directory_of, topic_id


def alter(
    cluster: Cluster, isr: list[int], broker: int = 1, version: int = 3, times: int = 1, **changes: Any
) -> ResponsePartitionData:
    """Send what the leader would send, with some changes; the records are applied."""
    known = cluster.image.brokers
    epochs = {each: known[each].epoch if each in known else 0 for each in isr} | changes.pop("epochs", {})
    current = cluster.partition()
    values: dict[str, Any] = {
        "partition_index": 0,
        "leader_epoch": current.leader_epoch,
        "partition_epoch": current.partition_epoch,
        "leader_recovery_state": current.standing.recovery,
    }
    name = changes.pop("topic", "t")
    broker_epoch = changes.pop("broker_epoch", known[broker].epoch)
    if version >= 3:
        values["new_isr_with_epochs"] = [BrokerState(broker_id=each, broker_epoch=epochs[each]) for each in isr]
    else:
        values["new_isr"] = isr
    data = RequestPartitionData(**{**values, **changes})
    request = AlterPartitionRequest(
        broker_id=broker,
        broker_epoch=broker_epoch,
        topics=[RequestTopicData(topic_id=topic_id(name), partitions=[data] * times)],
    )
    records, answer = plan_alteration(cluster.image, cluster.settings, request, version)
    cluster.apply(records)
    return answer.topics[0].partitions[-1]


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster([1, 2, 3, 4])
    found.create("t", [1, 2, 3])
    return found


@pytest.mark.parametrize("version", [2, 3])
def test_the_in_sync_set_shrinks_and_grows(cluster: Cluster, version: int) -> None:
    shrunk = alter(cluster, [1, 3], version=version)
    assert (shrunk.error_code, shrunk.isr, shrunk.partition_epoch, shrunk.leader_epoch) == (0, [1, 3], 1, 0)
    assert cluster.partition().isr == (1, 3)
    assert alter(cluster, [1, 3, 2], version=version).isr == [1, 3, 2]
    unchanged = alter(cluster, [1, 3, 2], version=version)
    assert (unchanged.error_code, unchanged.partition_epoch) == (0, 2)


def test_growing_back_clears_the_eligible_leaders(cluster: Cluster) -> None:
    cluster.configure("t", min_insync_replicas="3")
    alter(cluster, [1, 2])
    assert cluster.partition().standing.elr == (3,)
    alter(cluster, [1, 2, 3])
    assert cluster.partition().standing.elr == ()


@pytest.mark.parametrize(
    ("isr", "changes", "code"),
    [
        ([1], {"topic": "nobody"}, ErrorCode.UNKNOWN_TOPIC_ID),
        ([1], {"partition_index": 5}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1], {"partition_index": -1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1], {"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ([1], {"partition_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ([1], {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ([1, 2], {"broker": 2}, ErrorCode.INVALID_REQUEST),
        ([1], {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ([2], {}, ErrorCode.INVALID_REQUEST),
        ([], {}, ErrorCode.INVALID_REQUEST),
        ([1, 1], {}, ErrorCode.INVALID_REQUEST),
        ([1, 4], {}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": RECOVERING}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 7}, ErrorCode.INVALID_REQUEST),
        ([1, 2], {"epochs": {2: 0}}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_is_refused(cluster: Cluster, isr: list[int], changes: dict[str, Any], code: ErrorCode) -> None:
    before = cluster.partition()
    assert alter(cluster, isr, **changes).error_code == code
    assert cluster.partition() == before


def test_a_replaced_leader_is_refused_as_a_whole(cluster: Cluster) -> None:
    with pytest.raises(ApiError) as refused:
        alter(cluster, [1], broker_epoch=77)
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize("state", ["fenced", "shutting down", "unregistered"])
def test_who_is_not_alive_is_not_in_sync(cluster: Cluster, state: str) -> None:
    if state == "fenced":
        cluster.beat(2, want_fence=True)
    elif state == "shutting down":
        cluster.create("u", [2, 1])
        cluster.beat(2, want_shut_down=True)
    else:
        cluster.sweep(unregistering(cluster.image, cluster.settings, cluster.broker(2)))
    assert alter(cluster, [1, 2]).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert alter(cluster, [1, 2], version=2).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert alter(cluster, [1, 3]).error_code == 0


def test_a_stale_word_about_a_restarted_follower_is_refused(cluster: Cluster) -> None:
    alter(cluster, [1, 3])
    old_epoch = cluster.broker(2).epoch
    cluster.heartbeats.forget(2)
    cluster.join(2, incarnation_id=b"n" * 16)
    assert alter(cluster, [1, 2, 3], epochs={2: old_epoch}).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert alter(cluster, [1, 2, 3]).error_code == 0
    assert alter(cluster, [1, 2, 3], epochs={2: -1}).error_code == 0, "who does not know the epoch is believed"


def test_a_partition_named_twice_is_changed_once(cluster: Cluster) -> None:
    assert alter(cluster, [1, 3], times=2).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert cluster.partition().partition_epoch == 1


def test_a_leader_that_recovered_says_so() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    change = PartitionChangeRecord(topic_id=topic_id("t"), partition_id=0, isr=[1], leader_recovery_state=RECOVERING)
    cluster.apply([change])
    assert alter(cluster, [1, 2]).error_code == ErrorCode.INVALID_REQUEST, "it is alone until it has recovered"
    found = alter(cluster, [1], leader_recovery_state=RECOVERED)
    assert (found.error_code, found.leader_recovery_state) == (0, RECOVERED)
    assert alter(cluster, [1, 2]).error_code == 0


def test_completing_a_move_may_end_the_leadership_of_who_asked(cluster: Cluster) -> None:
    move = PartitionChangeRecord(
        topic_id=topic_id("t"),
        partition_id=0,
        replicas=[4, 2, 3, 1],
        adding_replicas=[4],
        removing_replicas=[1],
        directories=[directory_of(broker) for broker in (4, 2, 3, 1)],
    )
    cluster.apply([move])
    assert alter(cluster, [1, 2, 3, 4]).error_code == ErrorCode.NEW_LEADER_ELECTED
    found = cluster.partition()
    assert (found.replicas, found.isr, found.leader, found.leader_epoch) == ((4, 2, 3), (2, 3, 4), 4, 1)
