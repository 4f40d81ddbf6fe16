"""Answers that nobody reads take only so much memory: then large requests wait until a deaf client is given up."""

from __future__ import annotations

from functools import partial

from penstock.core.node.serving.unread_answers import PROGRESS_BYTES_MIN, STALL_MS_MAX
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from tests.node.world import Client, World

BYTES_MAX = 1 << 20
GROUPS = DescribeGroupsRequest(groups=[f"g-{number}" for number in range(20_000)])
LITTLE = DescribeGroupsRequest(groups=["g"])


class Slow(Client):
    """Reads nothing, unless it is told to."""

    unread_bytes = 0

    def collect(self) -> None:
        self.unread_bytes += sum(map(len, self.connection.take_output()))
        self.connection.sent(self.unread_bytes)

    def read(self, size_bytes: int) -> None:
        self.unread_bytes -= min(size_bytes, self.unread_bytes)
        self.connection.sent(self.unread_bytes)


def new_world() -> World:
    return World({"penstock.response.bytes.max": str(2 * BYTES_MAX)})


def slow(world: World) -> Slow:
    client = Slow(world, world.client().connection)
    world.clients[client.connection] = client
    return client


def fill(world: World) -> list[Slow]:
    """As many as it takes."""
    found = []
    while not world.node.later_turns.unread.is_full:
        found.append(slow(world))
        found[-1].send(GROUPS)
        world.pass_time(0)
    return found


def test_a_large_request_waits_until_a_deaf_client_is_given_up() -> None:
    world = new_world()
    deaf, good = fill(world), world.client()
    assert len(deaf) > 1
    good.send(GROUPS)
    world.pass_time(STALL_MS_MAX // 2)
    assert good.replies() == []
    assert len(world.client().ask(LITTLE).groups) == 1, "small ones are answered all the while"
    world.pass_time(STALL_MS_MAX)
    (given_up,) = (each for each in deaf if each.connection.abandoned)
    assert given_up.unread_bytes == max(each.unread_bytes for each in deaf)
    world.turn(given_up.connection.closed)
    world.pass_time(STALL_MS_MAX)
    assert len(good.replies()) == 1
    assert world.node.later_turns.unread.bytes < BYTES_MAX


def test_who_reads_on_is_waited_for() -> None:
    world = new_world()
    readers, good = fill(world), world.client()
    good.send(GROUPS)
    while not (answers := good.replies()):
        world.pass_time(STALL_MS_MAX // 2)
        for reader in readers:
            world.turn(partial(reader.read, PROGRESS_BYTES_MIN))
    assert len(answers) == 1
    assert not [reader for reader in readers if reader.connection.closing]


def test_without_anybody_who_waits_nobody_is_given_up() -> None:
    world = new_world()
    deaf = fill(world)
    world.pass_time(10 * STALL_MS_MAX)
    assert not [each for each in deaf if each.connection.closing]
    for each in deaf:
        world.turn(each.connection.closed)
    assert world.node.later_turns.unread.bytes == 0
