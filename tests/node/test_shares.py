"""A client that sends thousands of requests at once is served some at a time, and others in between."""

from __future__ import annotations

from penstock.core.node.serving.connection import REQUESTS_PER_TURN_MAX
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from tests.node.test_acks import outcome
from tests.node.world import Client, World, produce

MANY = 3 * REQUESTS_PER_TURN_MAX + 7


def flood(client: Client, count: int = MANY) -> None:
    frames = b"".join(client.frame(ApiVersionsRequest(), 0) for _ in range(count))
    client.world.turn(lambda: client.connection.feed(frames))


def next_turn(world: World) -> None:
    assert world.node.next_deadline_ms() == world.now_ms, "nobody waits for the clock"
    world.turn(world.node.tick)


def test_a_turn_serves_its_share_and_the_next_one_goes_on() -> None:
    world = World()
    client = world.client()
    flood(client)
    served = []
    while not client.connection.reading:
        served.append(len(client.replies()))
        next_turn(world)
    served.append(len(client.replies()))
    assert served == [REQUESTS_PER_TURN_MAX] * 3 + [7]
    assert client.ask(ApiVersionsRequest(), 0).error_code == 0


def test_others_are_served_in_between_and_those_who_wait_one_after_the_other() -> None:
    world = World()
    loud, louder, quiet = world.client(), world.client(), world.client()
    flood(loud)
    flood(louder)
    assert quiet.ask(ApiVersionsRequest(), 0).error_code == 0
    for client in (loud, louder):
        assert len(client.replies()) == REQUESTS_PER_TURN_MAX
    next_turn(world)
    assert (len(loud.replies()), len(louder.replies())) == (REQUESTS_PER_TURN_MAX, 0)
    next_turn(world)
    assert (len(loud.replies()), len(louder.replies())) == (0, REQUESTS_PER_TURN_MAX)
    world.pass_time(0)
    assert (len(loud.replies()), len(louder.replies())) == (MANY - 2 * REQUESTS_PER_TURN_MAX,) * 2


def test_who_goes_meanwhile_is_served_no_more() -> None:
    world = World()
    gone, stays = world.client(), world.client()
    flood(gone)
    flood(stays)
    gone.close()
    world.pass_time(0)
    assert len(stays.replies()) == MANY
    assert gone.connection.gone


def test_what_is_written_meanwhile_lets_nobody_go_on_before_their_turn() -> None:
    """Answers that come late end in another turn, in which the connection is looked at again."""
    world = World()
    world.create("t")
    client = world.client()
    world.hold()
    frames = b"".join(client.frame(produce("t", b"%d" % number), 9) for number in range(MANY))
    world.turn(lambda: client.connection.feed(frames))
    assert client.replies() == []
    world.turn(world.files.finish_one)
    assert len(world.files.pending) < MANY
    assert not client.connection.reading
    world.pass_time(0)
    world.release()
    world.pass_time(0)
    assert [outcome(reply) for reply in client.replies()] == [(0, number) for number in range(MANY)]
