"""How soon three real nodes, in the simulated world, go on without one of them, and what clients hear meanwhile."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from penstock.core.apis.metadata import ARRIVING_MS, DECIDING_MS, SETTLING_MS
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import NO_LEADER
from penstock.core.node.links.link import Address
from penstock.core.node.membership.absences import ABSENT_MS_MAX, LINGERING_MS
from penstock.core.node.node import Node
from penstock.core.records.build import build_batch
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.sim.clients.client import Connection
from penstock.sim.scheduler import SECOND
from tests.node.controller.nodes import NODES, Nodes
from tests.node.controller.test_nodes import creation

ASKED = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
LONG = 60 * SECOND


def serving(seed: int = 1) -> Nodes:
    cluster = Nodes(seed)
    assert cluster.ask(1, creation("t")).topics[0].error_code == 0
    cluster.wait(lambda: all(cluster.node(each).image.topic("t") is not None for each in NODES))
    cluster.wait(lambda: all(_leads(cluster.node(number), index) for index, number in enumerate(leaders(cluster, 1))))
    return cluster


def _leads(node: Node, index: int) -> bool:
    """Whether it has acted on what the metadata says."""
    found = node.replicas.get("t", index)
    return found is not None and found.leads


def leaders(cluster: Nodes, number: int) -> list[int]:
    topic = cluster.node(number).image.topic("t")
    assert topic is not None
    return list(topic.leaders)


def seconds_without(cluster: Nodes, victim: int) -> float:
    """How long it takes until all other nodes know other leaders than one that is gone."""
    others = [each for each in NODES if each != victim]
    return cluster.wait(lambda: all(victim not in leaders(cluster, each) for each in others))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("controls", [False, True])
def test_a_process_that_dies_is_replaced_at_once(seed: int, controls: bool) -> None:
    cluster = serving(seed)
    victim = cluster.controller if controls else cluster.other
    cluster.world.sites[victim].crash(LONG)
    assert seconds_without(cluster, victim) < 0.5


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("controls", [False, True])
def test_a_process_that_hangs_is_replaced_within_two_seconds(seed: int, controls: bool) -> None:
    cluster = serving(seed)
    victim = cluster.controller if controls else cluster.other
    cluster.world.sites[victim].pause()
    assert 1.0 < seconds_without(cluster, victim) < 2.0


def told(
    cluster: Nodes, connection: Connection, request: MetadataRequest = ASKED, version: int | None = None
) -> dict[int, tuple[int, int]]:
    answer = cluster.answer(connection, request, version)
    return {each.partition_index: (each.leader_id, each.error_code) for each in answer.topics[0].partitions}


def seconds_until_told(cluster: Nodes, connection: Connection) -> float:
    scheduler = cluster.world.scheduler
    begin_us = scheduler.now_us
    told(cluster, connection)
    return (scheduler.now_us - begin_us) / SECOND


def led_by(cluster: Nodes, connection: Connection, victim: int) -> list[int]:
    led = [index for index, (leader, _) in told(cluster, connection).items() if leader == victim]
    assert led, "it leads something"
    return led


@pytest.mark.parametrize(
    ("request_", "version"),
    [(ASKED, None), (MetadataRequest(topics=None), None), (MetadataRequest(topics=[]), 0)],
    ids=["one", "all", "all of version 0"],
)
@pytest.mark.parametrize("asks_again", [True, False])
def test_who_asks_for_a_leader_that_has_just_hung_up_hears_of_the_next(
    asks_again: bool, request_: MetadataRequest, version: int | None
) -> None:
    """Told that there is none now, a client would ask again half a second later."""
    cluster = serving()
    victim, asked = cluster.other, cluster.controller
    connection = cluster.connect(asked)
    led = led_by(cluster, connection, victim)
    cluster.world.sites[victim].crash(LONG)
    found = told(cluster, connection if asks_again else cluster.connect(asked), request_, version)
    assert [found[index][1] for index in led] == [ErrorCode.NONE] * len(led)
    assert victim not in [found[index][0] for index in led]


def test_a_leader_that_hangs_is_not_named_nor_waited_for_until_it_is_replaced() -> None:
    cluster = serving()
    victim, asked = cluster.other, cluster.controller
    connection = cluster.connect(asked)
    led = led_by(cluster, connection, victim)
    cluster.world.sites[victim].pause()
    node = cluster.node(asked)
    cluster.wait(lambda: victim in node.cluster.absent())
    begin_us = cluster.world.scheduler.now_us
    found = told(cluster, connection)
    waited_ms = (cluster.world.scheduler.now_us - begin_us) / 1000
    assert [found[index] for index in led] == [(NO_LEADER, ErrorCode.LEADER_NOT_AVAILABLE)] * len(led)
    assert DECIDING_MS <= waited_ms < 2 * DECIDING_MS


def ways(one: int, other: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (one, other), (other, one)


def separate(cluster: Nodes, one: int, other: int) -> None:
    """From now on these two hear nothing of each other, though everybody else hears both."""
    cluster.world.network.close(*ways(one, other))


def test_a_leader_that_only_one_node_does_not_hear_is_named_again_by_that_node() -> None:
    """The controller hears of it. Clients that were told by this node that there is no leader would not come back."""
    cluster = serving()
    one, other = (number for number in NODES if number != cluster.controller)
    connection = cluster.connect(one)
    led = led_by(cluster, connection, other)
    separate(cluster, one, other)
    node = cluster.node(one)
    cluster.wait(lambda: other in node.cluster.absent())
    assert cluster.wait(lambda: other not in node.cluster.absent()) < 2.0
    scheduler = cluster.world.scheduler
    for _ in range(20):
        found = told(cluster, connection)
        assert [found[index] for index in led] == [(other, ErrorCode.NONE)] * len(led)
        scheduler.run_until(scheduler.now_us + SECOND)


def test_a_follower_is_back_soon_after_a_network_is_whole_again() -> None:
    """Over another connection: what was sent over the old one is sent again much later."""
    cluster = serving()
    one, other = (number for number in NODES if number != cluster.controller)
    network, scheduler = cluster.world.network, cluster.world.scheduler
    separate(cluster, one, other)
    for link in network.links_between(one, other):
        link.stall(LONG)

    def are_in_sync() -> bool:
        topic = cluster.node(cluster.controller).image.topic("t")
        assert topic is not None
        return all(set(isr) == set(replicas) for isr, replicas in zip(topic.isrs, topic.replicas, strict=True))

    scheduler.run_until(scheduler.now_us + 10 * SECOND)
    assert not are_in_sync()
    network.reopen(*ways(one, other))
    assert cluster.wait(are_in_sync) < 5.0


def test_who_asks_again_is_answered_a_moment_later() -> None:
    cluster = serving()
    connection = cluster.connect(1)
    first, second = (seconds_until_told(cluster, connection) for _ in range(2))
    assert second - first > SETTLING_MS / 2000


def test_who_asks_first_on_an_old_connection_has_a_reason_to() -> None:
    cluster = serving()
    new, old = cluster.connect(1), cluster.connect(1)
    scheduler = cluster.world.scheduler
    first = seconds_until_told(cluster, new)
    scheduler.run_until(scheduler.now_us + ARRIVING_MS * 1000)
    assert seconds_until_told(cluster, old) - first > SETTLING_MS / 2000


def test_a_broker_is_named_for_some_time_after_it_was_fenced() -> None:
    cluster = serving()
    victim, asked = cluster.other, cluster.controller
    connection = cluster.connect(asked)
    cluster.world.sites[victim].crash(LONG)
    seconds_without(cluster, victim)

    def named() -> set[int]:
        return {broker.node_id for broker in cluster.answer(connection, ASKED).brokers}

    assert named() == set(NODES)
    scheduler = cluster.world.scheduler
    scheduler.run_until(scheduler.now_us + LINGERING_MS * 1000)
    assert named() == set(NODES) - {victim}


def test_who_answers_again_is_not_taken_for_gone() -> None:
    cluster = serving()
    node, other = cluster.node(cluster.controller), cluster.other
    absences = node.cluster.absences
    broker = node.image.brokers[other]
    there = Address(broker.endpoints[0].host, broker.endpoints[0].port)
    absences.lost(there)
    assert absences.now() == {other}
    absences.found(there)
    assert absences.now() == frozenset()
    absences.lost(there)
    began_ms = node.now_us // 1000
    cluster.wait(lambda: node.now_us // 1000 > began_ms + ABSENT_MS_MAX)
    assert absences.now() == frozenset(), "nobody else thought so"


def produced(cluster: Nodes, number: int, index: int) -> tuple[int, float]:
    """What a leader answers to acks=all, and after how many seconds."""
    data = PartitionProduceData(index=index, records=build_batch([(None, b"a", (), cluster.node(number).now_ms)]))
    topic = cluster.node(number).image.topic("t")
    assert topic is not None
    request = ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(topic_id=topic.id, partition_data=[data])]
    )
    begin_us = cluster.world.scheduler.now_us
    answer = cluster.answer(cluster.connect(number), request, version=13)
    took = (cluster.world.scheduler.now_us - begin_us) / SECOND
    return answer.responses[0].partition_responses[0].error_code, took


def in_sync(cluster: Nodes, number: int, index: int) -> tuple[int, ...]:
    topic = cluster.node(number).image.topic("t")
    assert topic is not None
    return topic.isrs[index]


def test_a_leader_goes_on_without_a_follower_that_only_it_does_not_hear() -> None:
    cluster = serving()
    leader, follower = (each for each in NODES if each != cluster.controller)
    index = leaders(cluster, leader).index(leader)
    separate(cluster, leader, follower)
    code, took = produced(cluster, leader, index)
    assert code == ErrorCode.NONE
    assert took < 2.5, "it need not count as slow before"
    # The answer that frees the producer may come before the metadata that says so to everybody.
    cluster.wait(lambda: set(in_sync(cluster, leader, index)) == {leader, cluster.controller})
    scheduler = cluster.world.scheduler
    for _ in range(20):
        scheduler.run_until(scheduler.now_us + SECOND // 2)
        code, took = produced(cluster, leader, index)
        assert (code, took < 0.5) == (ErrorCode.NONE, True), "it has left, and is not waited for again"


def test_a_leader_that_the_cluster_does_without_says_so() -> None:
    cluster = serving()
    leader, controller = cluster.other, cluster.controller
    index = leaders(cluster, leader).index(leader)
    separate(cluster, leader, controller)
    code, took = produced(cluster, leader, index)
    assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert took < 2.5, "nobody waits for what cannot come"
    assert told(cluster, cluster.connect(leader))[index] == (NO_LEADER, ErrorCode.LEADER_NOT_AVAILABLE)
    cluster.world.network.reopen(*ways(leader, controller))
    cluster.wait(lambda: told(cluster, cluster.connect(leader))[index][0] != NO_LEADER)


def test_a_leader_listens_again_after_it_led_nothing_for_a_moment() -> None:
    cluster = serving()
    replication = cluster.node(cluster.other).replication
    cluster.wait(lambda: bool(replication._leading))
    leading = dict(replication._leading)
    replication._leading.clear()
    scheduler = cluster.world.scheduler
    scheduler.run_until(scheduler.now_us + SECOND)
    for partition in leading:
        replication.began(partition)
    with patch.object(replication._silence, "silent", return_value=frozenset()) as looked:
        scheduler.run_until(scheduler.now_us + SECOND)
    assert looked.called
