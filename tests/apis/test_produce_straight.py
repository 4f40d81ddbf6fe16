"""The short way of a produce request and the general one: the same bytes back, the same log, whatever comes in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.apis import produce_straight
from penstock.core.node.slots import Api
from penstock.core.records.build import build_batch
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.examples import examples
from tests.node.world import NOW_MS, Client, World

PRODUCE = 0
VERSIONS = range(3, 14)


def a_world(straight: bool) -> tuple[World, Client]:
    world = World(seed=3)
    world.create("t", 2)
    world.create("u", 1, message_timestamp_type="LogAppendTime")
    if not straight:
        api = world.node.apis[PRODUCE]
        world.node.apis = {**world.node.apis, PRODUCE: Api(ProduceRequest, api.versions, api.handle)}
    return world, world.client()


batches = st.builds(
    lambda values, sequence, damage: damaged(
        bytes(
            build_batch(
                [(None, value, (), NOW_MS) for value in values],
                **({} if sequence is None else {"producer_id": 9, "producer_epoch": 0, "base_sequence": sequence}),
            )
        ),
        damage,
    ),
    st.lists(st.binary(max_size=300), min_size=1, max_size=3),
    st.none() | st.integers(0, 2),
    st.none() | st.integers(0, 200),
)


def damaged(batch: bytes, at: int | None) -> bytes:
    if at is None:
        return batch
    copy = bytearray(batch)
    copy[at % len(copy)] ^= 0x5A
    return bytes(copy)


@st.composite
def requests(draw: Any) -> tuple[int, ProduceRequest]:
    def topic() -> TopicProduceData:
        data = st.builds(PartitionProduceData, index=st.integers(0, 2), records=st.none() | batches)
        return TopicProduceData(
            name=draw(st.sampled_from(["t", "u", "nobody", "__consumer_offsets"])),
            topic_id=draw(st.sampled_from([b"t", b"u", bytes(16)])),
            partition_data=draw(st.lists(data, min_size=1, max_size=2 if draw(st.booleans()) else 1)),
        )

    topics = [topic() for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    request = ProduceRequest(
        transactional_id=draw(st.sampled_from([None, None, None, "x"])),
        acks=draw(st.sampled_from([-1, 1, 1, 0, 2])),
        timeout_ms=draw(st.sampled_from([0, 1000])),
        topic_data=topics,
    )
    return draw(st.sampled_from(list(VERSIONS))), request


def with_ids(world: World, request: ProduceRequest) -> None:
    """Topics are named by id from version 13 on; each world has its own ids, equal because their seeds are."""
    for topic in request.topic_data:
        if topic.topic_id in (b"t", b"u"):
            topic.topic_id = world.topic_id(topic.topic_id.decode())


def outcome(world: World, client: Client) -> tuple[bytes, bool, list[int]]:
    out = b"".join(bytes(part) for part in client.connection.take_output())  # type: ignore[arg-type]
    ends = [partition.log.end_offset for partition in world.node.replicas]
    return out, client.connection.closing, ends


@examples(150)
@given(st.lists(requests(), min_size=1, max_size=4), st.none() | st.integers(0, 400), st.booleans())
def test_both_ways_are_equal(sequence: list[tuple[int, ProduceRequest]], flipped: int | None, held: bool) -> None:
    outcomes = []
    with_ids(a_world(True)[0], ProduceRequest(topic_data=[each for _, one in sequence for each in one.topic_data]))
    for straight in (True, False):
        world, client = a_world(straight)
        if held:
            world.hold()
        frames = b"".join(client.frame(request, version) for version, request in sequence)
        data = bytearray(frames)
        if flipped is not None:
            # Not in a frame's length: that would only move where the stream is cut.
            data[min(4 + flipped, len(data) - 1)] ^= 0x01
        world.turn(lambda client=client, data=data: client.connection.feed(bytes(data)))
        before = outcome(world, client)
        world.release()
        outcomes.append((before, outcome(world, client)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_usual_request_goes_straight(version: int) -> None:
    world, client = a_world(True)
    api = world.node.apis[PRODUCE]

    def refuse(*_: object) -> Any:
        raise AssertionError("the usual request took the general way")

    world.node.apis = {**world.node.apis, PRODUCE: Api(ProduceRequest, api.versions, refuse, produce_straight.serve)}
    batch = bytes(build_batch([(None, b"v" * 500, (), NOW_MS)]))
    topic = TopicProduceData(
        name="t",
        topic_id=world.topic_id("t"),
        partition_data=[PartitionProduceData(index=1, records=batch)],
    )
    answer = client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), version)
    (result,) = answer.responses[0].partition_responses
    assert (result.index, result.error_code, result.base_offset) == (1, 0, 0)
