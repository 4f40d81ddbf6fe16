"""The short way of a produce request and the general one: the same bytes back, the same log, whatever comes in."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.apis import produce_fast_path
from penstock.core.node.serving.api import Api
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.examples import examples
from tests.node.world import NOW_MS, Client, World

PRODUCE = 0
VERSIONS = range(3, 14)


def a_world(fast: bool) -> tuple[World, Client]:
    world = World(seed=3)
    world.create("t", 2)
    world.create("u", 1, message_timestamp_type="LogAppendTime")
    world.create("v", 1, penstock_acks_required="all")
    begin_transaction(world)
    if not fast:
        api = world.node.apis[PRODUCE]
        world.instead[PRODUCE] = Api(ProduceRequest, api.versions, api.handle, api.touches)
    return world, world.client()


def begin_transaction(world: World) -> None:
    """Producer 9 has one in the first partition."""
    batch = build_batch(
        [(None, b"v", (), NOW_MS)], producer_id=9, producer_epoch=0, base_sequence=0, transactional=True
    )
    partition = world.node.replicas.get("t", 0)
    world.turn(lambda: partition.append_own(batch, read_header(batch), NOW_MS))


def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Requests that are odd in one thing only are the ones that could take the wrong way."""
    return st.integers(0, 9).flatmap(lambda number: odd if number == 0 else usual)


@st.composite
def batches(draw: Any) -> bytes:
    values = draw(st.lists(st.binary(max_size=300), min_size=1, max_size=3))
    sequence = draw(st.none() | st.integers(0, 2))
    fields = {} if sequence is None else {"producer_id": 9, "producer_epoch": 0, "base_sequence": sequence}
    if fields and draw(st.booleans()):
        fields["transactional"] = True
    batch = bytearray(build_batch([(None, value, (), NOW_MS) for value in values], **fields))
    at = draw(mostly(st.none(), st.integers(0, 200)))
    if at is not None:
        batch[at % len(batch)] ^= 0x5A
    return bytes(batch)


@st.composite
def requests(draw: Any) -> tuple[int, ProduceRequest]:
    def data() -> PartitionProduceData:
        records = draw(mostly(batches(), st.none()))
        return PartitionProduceData(index=draw(mostly(st.just(0), st.integers(0, 2))), records=records)

    def topic() -> TopicProduceData:
        return TopicProduceData(
            name=draw(mostly(st.sampled_from(["t", "u", "v"]), st.sampled_from(["nobody", "__consumer_offsets", ""]))),
            topic_id=draw(mostly(st.sampled_from([b"t", b"u", b"v"]), st.just(bytes(16)))),
            partition_data=[data() for _ in range(draw(mostly(st.just(1), st.sampled_from([0, 2]))))],
        )

    request = ProduceRequest(
        transactional_id=draw(st.sampled_from([None, None, "x", "", "\u00e4" * 70])),
        acks=draw(mostly(st.sampled_from([-1, 1]), st.sampled_from([0, 2]))),
        timeout_ms=draw(st.sampled_from([0, 1000])),
        topic_data=[topic() for _ in range(draw(mostly(st.just(1), st.sampled_from([0, 2]))))],
    )
    return draw(st.sampled_from(list(VERSIONS))), request


def with_ids(world: World, request: ProduceRequest) -> None:
    """Topics are named by id from version 13 on; each world has its own ids, equal because their seeds are."""
    for topic in request.topic_data:
        if topic.topic_id in (b"t", b"u", b"v"):
            topic.topic_id = world.topic_id(topic.topic_id.decode())


def outcome(world: World, client: Client) -> tuple[bytes, bool, list[int]]:
    ends = [partition.log.end_offset for partition in world.node.replicas]
    return client.received(), client.connection.closing, ends


@examples(150)
@given(st.lists(requests(), min_size=1, max_size=4), st.none() | st.integers(0, 400), st.booleans())
def test_both_ways_are_equal(sequence: list[tuple[int, ProduceRequest]], flipped: int | None, held: bool) -> None:
    outcomes = []
    with_ids(a_world(True)[0], ProduceRequest(topic_data=[each for _, one in sequence for each in one.topic_data]))
    for fast in (True, False):
        world, client = a_world(fast)
        if held:
            world.hold()
        frames = b"".join(client.frame(request, version) for version, request in sequence)
        data = bytearray(frames)
        if flipped is not None:
            # Not in a frame's length: that would only move where the stream is cut.
            data[min(4 + flipped, len(data) - 1)] ^= 0x01
        world.turn(partial(client.connection.feed, bytes(data)))
        before = outcome(world, client)
        world.release()
        outcomes.append((before, outcome(world, client)))
    assert outcomes[0] == outcomes[1]


@examples(100)
@given(st.lists(batches(), min_size=2, max_size=6), st.sampled_from(list(VERSIONS)), st.booleans())
def test_a_run_of_requests_is_as_good_as_one_after_the_other(run: list[bytes], version: int, held: bool) -> None:
    """The same place and other records, all in one piece: batches that are refused or come again stand among them."""
    outcomes = []
    for together in (True, False):
        world, client = a_world(True)
        if held:
            world.hold()
        frames = [client.frame(request_of(world, batch), version) for batch in run]
        for data in [b"".join(frames)] if together else frames:
            world.turn(partial(client.connection.feed, data))
        world.release()
        outcomes.append(outcome(world, client))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_is_written_at_once(version: int) -> None:
    world, client = a_world(True)
    batch = bytes(build_batch([(None, b"v", (), NOW_MS)]))
    frames = [client.frame(request_of(world, batch), version) for _ in range(5)]
    before = world.files.operations
    world.turn(partial(client.connection.feed, b"".join(frames)))
    assert world.files.operations == before + 1
    assert len(client.replies()) == 5
    assert world.node.replicas.get("t", 0).high_watermark == 6


def request_of(world: World, batch: bytes) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=batch)
    topic = TopicProduceData(name="t", topic_id=world.topic_id("t"), partition_data=[data])
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])


@pytest.mark.parametrize("version", VERSIONS)
def test_each_byte_of_the_usual_request_matters_the_same_way(version: int) -> None:
    """One bit at a time, everywhere behind the frame's length: whatever that makes of the request, both ways agree."""
    worlds = [a_world(fast) for fast in (True, False)]
    topic = TopicProduceData(
        name="t",
        topic_id=worlds[0][0].topic_id("t"),
        partition_data=[PartitionProduceData(index=0, records=bytes(build_batch([(None, b"v", (), NOW_MS)])))],
    )
    frame = worlds[0][1].frame(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), version)
    for at in range(4, len(frame)):
        for bit in (0x01, 0x02, 0xFF):
            data = frame[:at] + bytes([frame[at] ^ bit]) + frame[at + 1 :]
            outcomes = []
            for world, _ in worlds:
                client = world.client()
                world.turn(partial(client.connection.feed, data))
                outcomes.append(outcome(world, client))
                client.close()
            assert outcomes[0] == outcomes[1], f"byte {at} with {bit:#x} flipped"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_usual_request_goes_straight(version: int) -> None:
    world, _ = a_world(True)
    api = world.node.apis[PRODUCE]

    def refuse(*_: object) -> Any:
        raise AssertionError("the usual request took the general way")

    fast_path = produce_fast_path.serve
    world.instead[PRODUCE] = Api(ProduceRequest, api.versions, refuse, api.touches, fast_path=fast_path)
    client = world.client()
    plain = build_batch([(None, b"v" * 500, (), NOW_MS)])
    assert told(client.ask(request_of(world, bytes(plain)), version)) == (0, 1)
    fields = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 1, "transactional": True}
    request = request_of(world, bytes(build_batch([(None, b"v" * 500, (), NOW_MS)], **fields)))
    request.transactional_id = "x"
    assert told(client.ask(request, version)) == (0, 2)


def told(answer: Any) -> tuple[int, int]:
    (result,) = answer.responses[0].partition_responses
    return result.error_code, result.base_offset
