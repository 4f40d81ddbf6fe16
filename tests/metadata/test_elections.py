"""Elections on request, and those the controller holds by itself."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.elections import balancing, electing_everywhere, electing_uncleanly, plan_elections
from penstock.core.metadata.image import NO_LEADER, RECOVERING, ReplicaSet
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord
from tests.metadata.cluster import Cluster

PREFERRED, UNCLEAN = 0, 1


def ask(kind: int, **topics: list[int]) -> ElectLeadersRequest:
    named = [TopicPartitions(topic=name, partitions=indexes) for name, indexes in topics.items()]
    return ElectLeadersRequest(election_type=kind, topic_partitions=named or None)


def codes(answer: ElectLeadersResponse) -> dict[tuple[str, int], int]:
    return {
        (topic.topic, result.partition_id): result.error_code
        for topic in answer.replica_election_results
        for result in topic.partition_result
    }


def elect(cluster: Cluster, kind: int, **topics: list[int]) -> dict[tuple[str, int], int]:
    records, answer = plan_elections(cluster.image, cluster.settings, ask(kind, **topics))
    cluster.apply(records)
    return codes(answer)


def away_and_back(cluster: Cluster, broker: int) -> None:
    """Fence a broker, unfence it, and let the leaders take it into sync again."""
    before = {name: [topic.partition(n).isr for n in range(len(topic))] for name, topic in cluster.image.topics.items()}
    cluster.beat(broker, want_fence=True)
    cluster.beat(broker)
    for name, sets in before.items():
        _restore(cluster, name, sets)


def _restore(cluster: Cluster, name: str, sets: list[ReplicaSet]) -> None:
    topic = cluster.image.topic(name)
    assert topic is not None
    cluster.apply(
        PartitionChangeRecord(topic_id=topic.id, partition_id=index, isr=list(isr), eligible_leader_replicas=[])
        for index, isr in enumerate(sets)
    )


def test_the_preferred_leader_takes_over_when_asked() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3], [2, 3, 1], [1, 3, 2])
    away_and_back(cluster, 1)
    assert [cluster.partition("t", index).leader for index in range(3)] == [2, 2, 3]
    assert elect(cluster, PREFERRED, t=[0, 1, 9], nobody=[0]) == {
        ("t", 0): 0,
        ("t", 1): ErrorCode.ELECTION_NOT_NEEDED,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nobody", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [cluster.partition("t", index).leader for index in range(3)] == [1, 2, 3]


def test_a_preferred_leader_that_is_not_in_sync_is_not_available() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    cluster.beat(1, want_fence=True)
    cluster.beat(1)
    assert elect(cluster, PREFERRED, t=[0, 0]) == {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


def test_an_unclean_election_is_held_where_nobody_leads() -> None:
    cluster = Cluster([1, 2, 3], elr=False)
    cluster.create("t", [1, 2], [3, 2])
    cluster.beat(2, want_fence=True)
    cluster.beat(2)
    cluster.beat(1, want_fence=True)
    assert cluster.partition().leader == NO_LEADER
    assert elect(cluster, UNCLEAN, t=[0, 1]) == {("t", 0): 0, ("t", 1): ErrorCode.ELECTION_NOT_NEEDED}
    assert (cluster.partition().leader, cluster.partition().standing.recovery) == (2, RECOVERING)
    cluster.beat(2, want_fence=True)
    assert elect(cluster, UNCLEAN, t=[0]) == {("t", 0): ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_an_unknown_kind_of_election_is_refused() -> None:
    with pytest.raises(ApiError, match="not known") as refused:
        plan_elections(Cluster().image, Cluster().settings, ask(7, t=[0]))
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_request_for_everything_tells_only_what_changed_or_failed() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("a", [1, 2], [2, 1])
    cluster.create("b", [1, 3])
    away_and_back(cluster, 1)
    cluster.create("c", [3, 1])
    cluster.beat(3, want_fence=True)
    cluster.beat(3)
    assert [cluster.partition("a", 0).leader, cluster.partition("b").leader, cluster.partition("c").leader] == [2, 1, 1]
    sweep, answer = electing_everywhere(cluster.image, cluster.settings, ask(PREFERRED))
    cluster.sweep(sweep)
    assert codes(answer()) == {("a", 0): 0, ("c", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert cluster.partition("a", 0).leader == 1
    unclean, nothing = electing_everywhere(cluster.image, cluster.settings, ask(UNCLEAN))
    cluster.sweep(unclean)
    assert codes(nothing()) == {}


def test_balancing_gives_leadership_back_where_it_can_be_taken() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3], [2, 3, 1], [1, 3, 2])
    away_and_back(cluster, 1)
    cluster.sweep(balancing(cluster.image, cluster.settings))
    assert [cluster.partition("t", index).leader for index in range(3)] == [1, 2, 1]
    assert cluster.sweep(balancing(cluster.image, cluster.settings)) == []


def test_unclean_elections_happen_where_they_are_allowed() -> None:
    cluster = Cluster([1, 2], elr=False)
    cluster.create("kept", [1, 2])
    cluster.create("served", [1, 2])
    for broker in (2, 1):
        cluster.beat(broker, want_fence=True)
    cluster.beat(2)
    assert cluster.image.tally.leaderless == 2
    assert cluster.sweep(electing_uncleanly(cluster.image, cluster.settings)) == []
    cluster.configure("served", unclean_leader_election_enable="true")
    cluster.sweep(electing_uncleanly(cluster.image, cluster.settings))
    assert (cluster.partition("kept").leader, cluster.partition("served").leader) == (NO_LEADER, 2)


def test_a_topic_that_allows_it_is_led_uncleanly_at_once() -> None:
    cluster = Cluster([1, 2], elr=False)
    cluster.create("t", [1, 2], unclean_leader_election_enable="true")
    cluster.beat(2, want_fence=True)
    cluster.beat(2)
    cluster.beat(1, want_fence=True)
    assert (cluster.partition().leader, cluster.partition().isr) == (2, (2,))
