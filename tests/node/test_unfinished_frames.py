"""Frames that do not end take no more memory than they may, and hold nobody up for long."""

from __future__ import annotations

from struct import Struct

import pytest

from penstock.core.node.serving.frame_memory import ORDINARY_FRAME_BYTES_MAX, SMALL_FRAME_BYTES_MAX
from penstock.core.node.serving.limits import PLAIN_FRAME_BYTES_MAX
from tests.node.world import Client, World, produce

PRODUCE, METADATA = 0, 3
MIB = 1 << 20
BOUND = 80 * MIB
LARGE = 30 * MIB
"""One of these has room, two have not: large frames have five eighths."""
_start = Struct(">ih")


def world() -> World:
    made = World({"penstock.frames.unfinished.bytes.max": str(BOUND)})
    made.create("t")
    return made


def begin(world: World, size: int, key: int = PRODUCE, arrived: int = 100) -> Client:
    client = world.client()
    give(client, _start.pack(size - 4, key) + bytes(arrived))
    return client


def give(client: Client, data: bytes) -> None:
    client.world.turn(lambda: client.connection.feed(data))


def test_a_large_frame_waits_for_the_room_of_another() -> None:
    node = world()
    first, second = begin(node, LARGE), begin(node, LARGE)
    assert (first.connection.reading, second.connection.reading) == (True, False)
    first.close()
    assert second.connection.reading
    second.close()
    assert node.node.frame_memory.bytes == 0


def test_a_frame_larger_than_all_there_is_gets_it_alone() -> None:
    node = world()
    small, alone = begin(node, 2 * ORDINARY_FRAME_BYTES_MAX), begin(node, BOUND + 1)
    assert not alone.connection.reading
    small.close()
    assert alone.connection.reading


def test_room_is_given_back_when_a_frame_was_served() -> None:
    node = world()
    first, second = begin(node, LARGE), begin(node, LARGE)
    frame = second.frame(produce("t", bytes(ORDINARY_FRAME_BYTES_MAX)), 9)
    whole = node.client()
    give(whole, frame[:1000])
    assert not whole.connection.reading
    for client in (first, second):
        client.close()
    assert whole.connection.reading
    give(whole, frame[1000:])
    node.settle()
    assert node.node.frame_memory.bytes == 0
    assert whole.received()


def test_ordinary_and_small_frames_go_on_while_large_ones_wait() -> None:
    node = world()
    begin(node, LARGE)
    begin(node, LARGE)
    assert begin(node, ORDINARY_FRAME_BYTES_MAX).connection.reading
    assert begin(node, SMALL_FRAME_BYTES_MAX).connection.reading
    assert node.client().ask(produce("t", b"x"), 9).responses[0].partition_responses[0].error_code == 0


def test_who_makes_no_progress_makes_room_for_others_after_a_second() -> None:
    node = world()
    stalled, waiting = begin(node, LARGE), begin(node, LARGE)
    node.pass_time(900)
    assert not stalled.connection.closing
    node.pass_time(700)
    assert stalled.connection.abandoned
    assert waiting.connection.reading
    assert node.node.frame_memory.given_up == 1
    assert "whose request does not end" in node.notes[-1][1]


def test_who_goes_on_is_not_given_up() -> None:
    node = world()
    steady = begin(node, LARGE)
    begin(node, LARGE)
    for _ in range(20):
        node.pass_time(400)
        give(steady, bytes(SMALL_FRAME_BYTES_MAX))
    assert not steady.connection.closing


@pytest.mark.parametrize("size", [6, SMALL_FRAME_BYTES_MAX, ORDINARY_FRAME_BYTES_MAX])
def test_a_frame_that_does_not_end_is_given_up_in_the_end(size: int) -> None:
    node = world()
    stalled = begin(node, size + 1, arrived=0)
    node.pass_time(29_000)
    assert not stalled.connection.closing
    node.pass_time(2_000)
    assert stalled.connection.abandoned


def test_small_frames_are_bounded_by_giving_up_the_oldest() -> None:
    node = World({"penstock.frames.unfinished.bytes.max": str(8 * SMALL_FRAME_BYTES_MAX)})
    half = SMALL_FRAME_BYTES_MAX // 2
    clients = [begin(node, SMALL_FRAME_BYTES_MAX, arrived=half) for _ in range(4)]
    assert [client.connection.abandoned for client in clients] == [True, True, True, False]
    assert node.node.frame_memory.bytes <= SMALL_FRAME_BYTES_MAX


def test_only_what_carries_records_may_be_large() -> None:
    node = world()
    assert begin(node, PLAIN_FRAME_BYTES_MAX + 5, METADATA).connection.closing
    assert not begin(node, PLAIN_FRAME_BYTES_MAX + 5).connection.closing
    assert node.node.metrics.malformed == 1


def test_frames_in_pieces_are_served() -> None:
    node = world()
    client = node.client()
    frame = client.frame(produce("t", bytes(3 * SMALL_FRAME_BYTES_MAX)), 9) * 2
    client._asked.clear()
    for at in range(0, len(frame), 10_000):
        give(client, frame[at : at + 10_000])
    node.settle()
    assert node.node.frame_memory.bytes == 0
    assert node.node.metrics.answered("Produce") == 2
