"""Requests that came together and wait together: in which place, for how long, and what each of them is told."""

from __future__ import annotations

from functools import partial

import pytest

from penstock.core.base.errors import ErrorCode
from tests.node.world import Client, World, fetch, found_in, produce

IN_FLIGHT = 5


def send_run(world: World, client: Client, acks: int = -1, timeout_ms: int = 1000, count: int = IN_FLIGHT) -> None:
    frames = [client.frame(produce("t", b"v", acks=acks, timeout_ms=timeout_ms), 9) for _ in range(count)]
    world.turn(partial(client.connection.feed, b"".join(frames)))


def told(client: Client) -> list[tuple[int, int]]:
    """(error, base offset) of each reply."""
    results = [reply.responses[0].partition_responses[0] for reply in client.replies()]
    return [(result.error_code, result.base_offset) for result in results]


def a_world() -> tuple[World, Client]:
    world = World({"penstock.connection.slots.max": "8"})
    world.create("t")
    return world, world.client()


@pytest.mark.parametrize("acks", [1, -1])
def test_a_run_waits_in_one_slot_and_counts_as_many(acks: int) -> None:
    world, client = a_world()
    world.hold()
    send_run(world, client, acks)
    assert len(client.connection.slots) == 1
    assert client.connection.waiting == IN_FLIGHT
    assert client.connection.reading
    send_run(world, client, acks)
    assert client.connection.waiting == 8
    assert not client.connection.reading, "more than may be unanswered has come"
    world.release()
    assert told(client) == [(0, offset) for offset in range(2 * IN_FLIGHT)]
    assert client.connection.waiting == 0
    assert client.connection.reading


def test_every_request_is_counted_once() -> None:
    world, client = a_world()
    world.hold()
    send_run(world, client)
    world.release()
    send_run(world, client)
    assert len(told(client)) == 2 * IN_FLIGHT
    assert world.node.metrics.answered("Produce") == 2 * IN_FLIGHT


def test_what_is_ready_at_once_stands_behind_what_waits() -> None:
    world, client = a_world()
    client.send(fetch({("t", 0): 0}, max_wait_ms=100, min_bytes=1 << 20), 11)
    send_run(world, client)
    assert client.replies() == []
    assert client.connection.waiting == 1 + IN_FLIGHT
    world.pass_time(100)
    first, *rest = client.replies()
    assert found_in(first)["t", 0].high_watermark == IN_FLIGHT
    assert [reply.responses[0].partition_responses[0].base_offset for reply in rest] == list(range(IN_FLIGHT))
    assert world.node.metrics.answered("Produce") == IN_FLIGHT


def test_who_waited_too_long_hears_so_once() -> None:
    world, client = a_world()
    world.hold()
    send_run(world, client, timeout_ms=50)
    world.pass_time(49, settle=False)
    assert client.replies() == []
    world.pass_time(1, settle=False)
    assert told(client) == [(ErrorCode.REQUEST_TIMED_OUT, -1)] * IN_FLIGHT
    world.release()
    assert client.replies() == []
    assert world.node.replicas.get("t", 0).high_watermark == IN_FLIGHT


def test_an_error_that_comes_too_late_for_some_is_told_to_the_others_only() -> None:
    """The topic goes when the first of two batches is committed."""
    world, client = a_world()
    world.hold()
    send_run(world, client, count=2)
    partition = world.node.replicas.get("t", 0)
    partition.high_watermark = 1
    world.turn(partition.remove)
    assert told(client) == [(0, 0), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)]


def test_a_connection_that_closes_takes_its_run_with_it() -> None:
    world, client = a_world()
    world.hold()
    send_run(world, client)
    client.close()
    world.release()
    assert world.node.replicas.get("t", 0).high_watermark == IN_FLIGHT
    other = world.client()
    assert other.ask(produce("t", b"v"), 9).responses[0].partition_responses[0].base_offset == IN_FLIGHT
