"""The share coordinator on one node: from the first question for it to what it knows after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.coordination.share_state import SHARE_STATE_TOPIC
from penstock.core.share_state.key import SharePartition
from penstock.core.wire.api import initialize_share_group_state as initializing
from penstock.core.wire.api import read_share_group_state as reading
from penstock.core.wire.api import write_share_group_state as writing
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from tests.node.world import World

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "0",
}
SHARE = 2


@pytest.fixture
def world() -> World:
    world = World(SETTINGS)
    world.create("t", 4)
    return world


def find(world: World, key: str, version: int = 6) -> Any:
    return world.client().ask(FindCoordinatorRequest(key_type=SHARE, coordinator_keys=[key]), version).coordinators[0]


def begun(world: World) -> World:
    assert find(world, SharePartition("g", world.topic_id("t"), 0).text).error_code == 0
    return world


def codes(answer: Any) -> list[tuple[int, int]]:
    return [(each.partition, each.error_code) for each in answer.results[0].partitions]


def initialize(world: World, *partitions: int) -> Any:
    data = [initializing.PartitionData(partition=each, state_epoch=1, start_offset=0) for each in partitions]
    topic = initializing.InitializeStateData(topic_id=world.topic_id("t"), partitions=data)
    return world.client().ask(initializing.InitializeShareGroupStateRequest(group_id="g", topics=[topic]))


def write(world: World, partition: int, last: int) -> Any:
    batch = writing.StateBatch(first_offset=0, last_offset=last, delivery_state=2, delivery_count=1)
    data = writing.PartitionData(
        partition=partition, state_epoch=1, leader_epoch=-1, start_offset=0, state_batches=[batch]
    )
    topic = writing.WriteStateData(topic_id=world.topic_id("t"), partitions=[data])
    return world.client().ask(writing.WriteShareGroupStateRequest(group_id="g", topics=[topic]))


def read(world: World, *partitions: int) -> Any:
    data = [reading.PartitionData(partition=each, leader_epoch=0) for each in partitions]
    topic = reading.ReadStateData(topic_id=world.topic_id("t"), partitions=data)
    return world.client().ask(reading.ReadShareGroupStateRequest(group_id="g", topics=[topic]))


def test_the_first_question_creates_the_topic(world: World) -> None:
    found = find(world, SharePartition("g", world.topic_id("t"), 0).text)
    assert (found.error_code, found.node_id, found.port) == (0, 1, 9092)
    assert world.node.image.config(2, SHARE_STATE_TOPIC) == {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": "1",
        "retention.ms": "-1",
        "segment.bytes": "104857600",
    }


def test_whom_nobody_is_in_charge_of(world: World) -> None:
    begun(world)
    assert find(world, "g").error_code == ErrorCode.INVALID_REQUEST
    key = SharePartition("g", world.topic_id("t"), 0).text
    assert find(world, key, version=5).error_code == ErrorCode.INVALID_REQUEST


def test_several_machines_answer_as_one_and_remember(world: World) -> None:
    begun(world)
    kind = world.node.coordinators.share_state.kind
    keys = [SharePartition("g", world.topic_id("t"), each).text for each in range(4)]
    assert {kind.index_of(key, 2) for key in keys} == {0, 1}
    answer = initialize(world, 0, 1, 2, 3)
    assert sorted(codes(answer)) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert len(answer.results) == 1
    assert codes(write(world, 2, 9)) == [(2, 0)]
    world.restart(clean=False)
    (found,) = read(world, 2).results[0].partitions
    assert (found.error_code, found.state_epoch, found.start_offset) == (0, 1, 0)
    assert [(each.first_offset, each.last_offset) for each in found.state_batches] == [(0, 9)]


def test_before_there_is_a_coordinator_each_partition_is_refused(world: World) -> None:
    assert codes(initialize(world, 0, 1)) == [(0, ErrorCode.NOT_COORDINATOR), (1, ErrorCode.NOT_COORDINATOR)]


def test_nothing_is_asked_of_nobody(world: World) -> None:
    begun(world)
    topic = reading.ReadStateData(topic_id=world.topic_id("t"), partitions=[])
    for request in (
        reading.ReadShareGroupStateRequest(group_id="g", topics=[topic]),
        reading.ReadShareGroupStateRequest(group_id="", topics=[]),
    ):
        assert world.client().ask(request).results == []


def test_the_log_is_cut_and_what_counts_is_kept(world: World) -> None:
    begun(world)
    initialize(world, 0)
    for last in range(8):
        write(world, 0, last)
    key = SharePartition("g", world.topic_id("t"), 0).text
    index = world.node.coordinators.share_state.kind.index_of(key, 2)
    partition = world.node.replicas.get(SHARE_STATE_TOPIC, index)
    assert partition is not None
    assert (partition.log.start_offset, partition.log.end_offset) == (0, 9)
    world.pass_time(301_000)
    assert partition.log.start_offset == 8
    world.restart()
    (found,) = read(world, 0).results[0].partitions
    assert [(each.first_offset, each.last_offset) for each in found.state_batches] == [(0, 7)]


def test_a_topic_that_is_deleted_takes_its_state_along(world: World) -> None:

    begun(world)
    initialize(world, 0, 1, 2, 3)
    world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    world.pass_time(1_000)
    assert [len(host.machine.table) for host in world.node.coordinators.share_state] == [0, 0]
