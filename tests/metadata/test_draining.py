"""Brokers that are drained: others lead for them wherever they can, until that is taken back."""

from __future__ import annotations

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.draining import following_drains
from penstock.core.metadata.elections import balancing
from penstock.core.metadata.heartbeats import Heartbeats
from penstock.core.metadata.image import BROKER_RESOURCE
from penstock.core.metadata.reluctance import DRAINED
from penstock.core.wire.stored.cluster_metadata import ConfigRecord
from tests.metadata.cluster import FILE, SESSION_MS, Cluster
from tests.metadata.test_alter_partition import alter


def drain(broker_id: int, value: str | None = "true") -> ConfigRecord:
    return ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=str(broker_id), name=DRAINED, value=value)


def drained(cluster: Cluster, broker_id: int, value: str | None = "true") -> None:
    for sweep in following_drains(cluster.image, cluster.settings, [drain(broker_id, value)]):
        cluster.sweep(sweep)


def leaders(cluster: Cluster) -> list[int]:
    topic = cluster.image.topic("t")
    assert topic is not None
    return list(topic.leaders)


def test_others_lead_while_a_broker_is_drained() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3], [2, 1, 3])
    cluster.create("alone", [1])
    drained(cluster, 1)
    assert leaders(cluster) == [2, 2]
    assert cluster.partition().isr == (1, 2, 3), "it goes on to follow"
    assert cluster.partition("alone").leader == 1, "a drain makes nothing unavailable"
    cluster.sweep(balancing(cluster.image, cluster.settings))
    assert leaders(cluster) == [2, 2], "it is not the one to lead, though it is the first replica"
    cluster.create("new", [1, 2])
    assert cluster.partition("new").leader == 2


def test_what_comes_back_after_a_drain_is_what_the_broker_should_lead() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3], [2, 1, 3], [3, 1, 2])
    drained(cluster, 1)
    drained(cluster, 3)
    drained(cluster, 1, None)
    assert leaders(cluster) == [1, 2, 2], "of 3, which is still drained, nothing is given away"


def test_leaders_come_back_by_hand_where_they_are_balanced_by_hand() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    drained(cluster, 1)
    by_hand = BrokerSettings(FILE | {"auto.leader.rebalance.enable": "false"})
    for sweep in following_drains(cluster.image, by_hand, [drain(1, None)]):
        cluster.sweep(sweep)
    assert leaders(cluster) == [2]


def test_who_has_to_lead_while_it_is_drained_gives_it_to_the_first_that_can() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    cluster.sweep(cluster.heartbeats._fence(cluster.image, cluster.settings, cluster.broker(2)))
    drained(cluster, 1)
    assert leaders(cluster) == [1]
    cluster.join(2)
    alter(cluster, [1, 2], broker=1)
    assert leaders(cluster) == [2]


def test_one_that_may_lead_again_relieves_one_that_is_drained() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    drained(cluster, 2)
    drained(cluster, 1)
    assert leaders(cluster) == [1], "one is as good as the other"
    drained(cluster, 2, None)
    assert leaders(cluster) == [2]


def test_the_next_controller_finishes_the_handing_over() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    cluster.apply([drain(1)])
    for sweep in Heartbeats(cluster.image, SESSION_MS, 0).take_over(cluster.image, cluster.settings):
        cluster.sweep(sweep)
    assert leaders(cluster) == [2]


def test_a_broker_is_drained_over_its_restart() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    drained(cluster, 1)
    cluster.sweep(cluster.heartbeats._fence(cluster.image, cluster.settings, cluster.broker(1)))
    cluster.join(1)
    alter(cluster, [1, 2], broker=2)
    cluster.sweep(balancing(cluster.image, cluster.settings))
    assert leaders(cluster) == [2]


def test_other_settings_drain_nobody() -> None:
    cluster = Cluster([1, 2])
    other = ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="1", name="log.cleaner.threads", value="2")
    assert following_drains(cluster.image, cluster.settings, [other]) == []
