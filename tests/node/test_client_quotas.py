"""A node that holds its clients to their quotas."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.quotas import CONNECTION, FETCH, MUTATION, PRODUCE, REQUEST
from penstock.core.node.serving.gates import OPEN
from penstock.core.wire.api.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.describe_client_quotas import DescribeClientQuotasRequest
from penstock.core.wire.api.fetch import FetchRequest
from penstock.core.wire.api.metadata import MetadataRequest
from tests.node.world import Client, World, fetch, found_in, produce, values_of

WINDOW_S = 10
"""What a client may have at once, in seconds of its quota: all windows but the one that has only begun."""
KB = bytes(1000)


def set_quota(world: World, key: str, value: float | None, **entity: str | None) -> None:
    """Of `user`, `client_id` or `ip`; None stands for all others."""
    kinds = [RequestEntityData(entity_type=kind.replace("_", "-"), entity_name=name) for kind, name in entity.items()]
    change = OpData(key=key, value=value or 0.0, remove=value is None)
    request = AlterClientQuotasRequest(entries=[RequestEntryData(entity=kinds, ops=[change])])
    (entry,) = world.client("10.9.9.9").ask(request).entries
    assert entry.error_code == 0, entry


def a_world(key: str, value: float, **entity: str | None) -> World:
    world = World()
    world.create("t")
    set_quota(world, key, value, **(entity or {"client_id": "test"}))
    return world


def throttle_ms(client: Client, request: Any, version: int | None = None) -> int:
    found: int = client.ask(request, version).throttle_time_ms
    return found


@pytest.mark.parametrize("entity", [{"client_id": "test"}, {"user": "ANONYMOUS"}, {"user": None, "client_id": None}])
def test_who_produces_more_than_its_quota_rests_until_it_fits(entity: dict[str, str | None]) -> None:
    world = a_world(PRODUCE, 1000.0, **entity)
    client = world.client()
    batches = 0
    while not (rest_ms := throttle_ms(client, produce("t", KB), 9)):
        batches += 1
    assert 8 <= batches < WINDOW_S, "what a batch costs beside its payload counts too"
    assert 0 < rest_ms < 2000
    assert not client.connection.reading
    world.pass_time(rest_ms)
    assert client.connection.reading
    assert throttle_ms(client, produce("t", KB), 9) > 0, "nothing has been forgotten yet"
    assert world.node.replicas.get("t", 0).log.end_offset == batches + 2, "what came was taken"


def test_without_a_quota_nobody_is_asked() -> None:
    world = a_world(PRODUCE, 1000.0)
    assert world.node.gates is not OPEN
    set_quota(world, PRODUCE, None, client_id="test")
    assert world.node.gates is OPEN


def test_a_quota_outlasts_a_restart() -> None:
    world = a_world(PRODUCE, 10.0)
    world.restart()
    assert throttle_ms(world.client(), produce("t", KB), 9) > 0
    answer = world.client("10.9.9.9").ask(DescribeClientQuotasRequest(components=[], strict=False))
    assert [(each.key, each.value) for each in answer.entries[0].values] == [(PRODUCE, 10.0)]


def test_who_fetches_more_than_its_quota_has_it_and_rests() -> None:
    world = a_world(FETCH, 500.0)
    for _ in range(20):
        world.client("10.9.9.9").ask(produce("t", KB), 9)
    client, answers = world.client(), []
    while not answers or not answers[-1].throttle_time_ms:
        offset = len(answers)
        answers.append(client.ask(fetch({("t", 0): offset}, partition_bytes=1), 11))
    assert [len(values_of(found_in(each)["t", 0].records)) for each in answers] == [1] * len(answers)
    assert 4 <= len(answers) <= 6
    assert not client.connection.reading


def test_no_fetch_takes_more_than_all_windows_have_room_for() -> None:
    world = a_world(FETCH, 500.0)
    for _ in range(20):
        world.client("10.9.9.9").ask(produce("t", KB), 9)
    client = world.client()
    client.send(fetch({("t", 0): 0}, min_bytes=1 << 20, max_wait_ms=1000), 11)
    world.pass_time(1000)
    (answer,) = client.replies()
    assert 0 < len(found_in(answer)["t", 0].records) <= 500 * WINDOW_S


def test_a_replica_has_no_quota() -> None:
    world = a_world(FETCH, 1.0)
    set_quota(world, REQUEST, 0.001, client_id="test")
    world.client("10.9.9.9").ask(produce("t", KB), 9)
    request: FetchRequest = fetch({("t", 0): 0})
    request.replica_id = 7
    assert throttle_ms(world.client(), request, 11) == 0


def test_who_takes_more_than_its_share_of_time_rests_a_window_at_most() -> None:
    world = a_world(REQUEST, 1.0)
    client = world.client()

    def ask(elapsed_us: int) -> int:
        node, frame = world.node, client.frame(MetadataRequest())
        node.begin(world.now_ms)
        client.connection.feed(frame)
        while node.finish(node.now_us + elapsed_us):
            client.collect()
        (answer,) = client.replies()
        return int(answer.throttle_time_ms)

    assert ask(90_000) == 0
    assert ask(20_000) == 0, "a tenth of a second in ten: what it is told rests on what was"
    assert 900 < ask(0) <= 1000
    world.pass_time(12_000)
    assert ask(5_000_000) == 0
    assert ask(0) == 1000, "not the minutes that it would take"


def change(client: Client, name: str, partitions: int, version: int) -> tuple[int, int]:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), version)
    return answer.topics[0].error_code, answer.throttle_time_ms


def test_changes_are_made_on_credit_once_and_then_refused() -> None:
    world = a_world(MUTATION, 1.0)
    client = world.client()
    assert change(client, "a", 14, 7) == (ErrorCode.NONE, 0)
    assert change(client, "b", 1, 7) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 3000)
    assert world.node.image.topic("b") is None
    assert not client.connection.reading
    world.pass_time(3000)
    assert change(client, "b", 1, 7) == (ErrorCode.NONE, 0)


def test_older_clients_are_served_and_rest() -> None:
    world = a_world(MUTATION, 1.0)
    client = world.client()
    assert change(client, "a", 14, 5) == (ErrorCode.NONE, 3000)
    world.pass_time(1000)
    assert not client.connection.reading
    world.pass_time(2000)
    assert client.connection.reading


def test_growth_and_deletion_are_changes_too() -> None:
    world = a_world(MUTATION, 1.0)
    client = world.client()
    assert change(client, "a", 14, 7) == (ErrorCode.NONE, 0)
    others = world.client()
    more = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="a", count=15, assignments=None)], timeout_ms=100)
    answer = others.ask(more)
    assert (answer.results[0].error_code, answer.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 3000)
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="a")], timeout_ms=100)
    answer = world.client().ask(gone)
    assert (answer.responses[0].error_code, answer.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 3000)
    more.validate_only = True
    assert world.client().ask(more).results[0].error_code == ErrorCode.NONE, "looking costs nothing"


@pytest.mark.parametrize("address", ["10.0.0.1", None])
def test_an_address_connects_as_often_as_its_quota_says(address: str | None) -> None:
    world = World()
    set_quota(world, CONNECTION, 1.0, ip=address)
    taken = [world.node.connect("10.0.0.1", 1) for _ in range(30)]
    assert sum(each is not None for each in taken) == WINDOW_S + 1
    assert world.node.metrics.connections_refused == 30 - WINDOW_S - 1
    assert world.node.connect("10.0.0.2", 1) is not None
    world.pass_time(12_000)
    world.turn(lambda: None)
    assert world.node.connect("10.0.0.1", 1) is not None


def test_a_client_that_is_over_its_quota_is_heard_again_in_its_order() -> None:
    world = a_world(PRODUCE, 10.0)
    client = world.client()
    frames = [client.frame(produce("t", KB), 9), client.frame(MetadataRequest())]
    world.turn(partial(client.connection.feed, b"".join(frames)))
    (answer,) = client.replies()
    assert answer.throttle_time_ms > 0
    world.pass_time(answer.throttle_time_ms)
    (answer,) = client.replies()
    assert answer.brokers
