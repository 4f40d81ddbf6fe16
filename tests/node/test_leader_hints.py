"""Whoever asks the wrong broker is told the right one with the refusal (KIP-951)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.leader_hints import hint_producer
from penstock.core.records.build import build_batch
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, TopicPartitions
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.sim.world import host_of
from tests.metadata.cluster import Cluster, topic_id
from tests.settings_act.town import Town
from tests.settings_act.trial import Place, Trial


@pytest.fixture(scope="module")
def town() -> Town:
    """A partition with a leader and a follower; the third machine has nothing of it."""
    town = Town(Trial("broker.rack", None, Place.FILE)).begin()
    town.create(1, 2)
    return town


def produce(town: Town, number: int) -> Any:
    data = PartitionProduceData(index=0, records=bytes(build_batch([(None, b"v", (), town.now_ms)])))
    topics = [TopicProduceData(name="t", topic_id=town.topic_id, partition_data=[data])]
    return town.ask(number, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics))


def fetch(town: Town, number: int, epoch: int = -1) -> Any:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000, current_leader_epoch=epoch)
    topic = FetchTopic(topic="t", topic_id=town.topic_id, partitions=[wanted])
    return town.ask(number, FetchRequest(max_wait_ms=0, max_bytes=1000, session_epoch=-1, topics=[topic]))


def told(result: Any, answer: Any) -> tuple[int, int, list[tuple[int, str]]]:
    leader = result.current_leader
    return leader.leader_id, leader.leader_epoch, [(each.node_id, each.host) for each in answer.node_endpoints]


@pytest.mark.parametrize("number", [2, 3])
def test_a_producer_hears_who_leads(town: Town, number: int) -> None:
    answer = produce(town, number)
    (result,) = answer.responses[0].partition_responses
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told(result, answer) == (1, town.partition().leader_epoch, [(1, host_of(1))])


def test_a_reader_hears_who_leads(town: Town) -> None:
    answer = fetch(town, 3)
    (result,) = answer.responses[0].partitions
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told(result, answer) == (1, town.partition().leader_epoch, [(1, host_of(1))])


def test_whoever_is_right_hears_nothing(town: Town) -> None:
    answer = produce(town, 1)
    assert answer.responses[0].partition_responses[0].current_leader is None
    assert answer.node_endpoints == []
    answer = fetch(town, 1)
    assert answer.responses[0].partitions[0].current_leader is None
    assert answer.node_endpoints == []


def test_a_reader_who_knows_an_older_epoch_hears_of_the_newer() -> None:
    town = Town(Trial("broker.rack", None, Place.FILE)).begin()
    first, second = town.others
    town.create(first, second)
    town.crash(first)
    town.wait(lambda: town.partition().leader == second)
    town.boot(first)
    town.wait(lambda: len(town.partition().isr) == 2)
    town.ask(town.controller, ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0])]))
    town.wait(lambda: town.partition().leader == first)
    town.wait(lambda: bool((role := town.node(first).replicas.get("t", 0)) and role.leads))
    answer = fetch(town, first, epoch=town.partition().leader_epoch - 1)
    (result,) = answer.responses[0].partitions
    assert result.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert told(result, answer) == (first, town.partition().leader_epoch, [(first, host_of(first))])


def refused(index: int, code: ErrorCode) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=code, base_offset=-1)


def test_only_leaders_that_can_be_reached_have_an_address() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", (1, 2), (2, 3))
    cluster.beat(2, want_fence=True)
    results = [refused(0, ErrorCode.NOT_LEADER_OR_FOLLOWER), refused(7, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    topic = TopicProduceResponse(topic_id=topic_id("t"), partition_responses=results)
    response = ProduceResponse(responses=[topic])
    hint_producer(cluster.image, "ELSEWHERE", response)
    assert response.node_endpoints == []
    hint_producer(cluster.image, "PLAINTEXT", response)
    assert [each.node_id for each in response.node_endpoints] == [1]
    assert results[0].current_leader is not None
    assert results[1].current_leader is None, "there is no such partition"


def test_other_refusals_are_not_about_leaders() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", (1, 2))
    result = refused(0, ErrorCode.MESSAGE_TOO_LARGE)
    response = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[result])])
    hint_producer(cluster.image, "PLAINTEXT", response)
    assert (result.current_leader, response.node_endpoints) == (None, [])
