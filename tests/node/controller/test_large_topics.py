"""A topic of many partitions is planned over some turns, and what was planned must still hold when it is written."""

from __future__ import annotations

import pytest

from penstock.core.apis import create_topics
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause
from penstock.core.metadata import topic_requests, topics
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.stored.cluster_metadata import BrokerRegistrationChangeRecord
from tests.node.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(create_topics, "AT_ONCE_MAX", 5)
    monkeypatch.setattr(topic_requests, "RECORDS_PER_TURN_MAX", 5)
    monkeypatch.setattr(topics, "PLACED_PER_TURN_MAX", 5)
    return World()


def creation(name: str, partitions: int, **changes: bool) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=1000, **changes)


def is_paused(world: World) -> bool:
    return any(isinstance(op, Pause) for op, _, _ in world.files.pending)


def test_a_large_topic_takes_several_turns_and_a_small_one_does_not_wait_for_it(world: World) -> None:
    large, small = world.client(), world.client()
    large.send(creation("large", 20))
    assert is_paused(world)
    assert world.node.quorum.uncommitted_image.topic("large") is None
    small.send(creation("small", 1))
    assert world.node.quorum.uncommitted_image.topic("small") is not None
    world.settle()
    answer = large.replies()[0].topics[0]
    assert (answer.error_code, answer.num_partitions) == (0, 20)
    found = world.node.image.topic("large")
    assert found is not None
    assert len(found) == 20


def test_of_two_that_create_the_same_topic_one_is_told_that_it_exists(world: World) -> None:
    clients = [world.client(), world.client()]
    for client in clients:
        client.send(creation("t", 20))
    world.settle()
    codes = sorted(client.replies()[0].topics[0].error_code for client in clients)
    assert codes == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]


def test_a_broker_that_goes_meanwhile_is_not_in_sync(world: World) -> None:
    client = world.client()
    client.send(creation("t", 20))
    epoch = world.node.image.brokers[1].epoch
    gone = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, fenced=1)
    world.turn(lambda: world.node.submit([gone], lambda code: None))
    world.settle()
    assert client.replies()[0].topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_asking_only_creates_nothing(world: World) -> None:
    answer = world.client().ask(creation("t", 20, validate_only=True))
    assert answer.topics[0].error_code == 0
    assert world.node.quorum.uncommitted_image.topic("t") is None
