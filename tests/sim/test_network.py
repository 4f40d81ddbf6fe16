"""Connections are ordered, arrive in any pieces, stop where the receiver stops, and end in every way TCP knows."""

from __future__ import annotations

import pytest

from penstock.sim.chance import Chance
from penstock.sim.disk import Disk, DiskProfile
from penstock.sim.machine import EPOCH_MS, Machine
from penstock.sim.network import Link, Network, NetworkProfile
from penstock.sim.scheduler import MS, SECOND, Scheduler
from penstock.sim.trace import Trace
from tests.sim.echo_node import EchoNode

SEEDS = range(30)


class Client:
    """Collects what arrives."""

    def __init__(self) -> None:
        self.data = b""
        self.chunks: list[int] = []
        self.ended = False

    def received(self, data: bytes) -> None:
        assert not self.ended
        self.data += data
        self.chunks.append(len(data))

    def gone(self) -> None:
        assert not self.ended
        self.ended = True


class World:
    """One echo node and one client."""

    def __init__(self, seed: int, profile: NetworkProfile | None = None) -> None:
        self.scheduler, trace, chance = Scheduler(), Trace(), Chance(seed)
        self.network = Network(self.scheduler, chance.fork("network"), trace, profile or NetworkProfile())
        self.disk = Disk(self.scheduler, chance.fork("disk"), trace, DiskProfile())
        self.machine = Machine(1, self.scheduler, self.network, self.disk, trace)
        self.machine.boot(EchoNode)
        self.client = Client()
        self.link = self.dial(self.client)

    def dial(self, client: Client) -> Link:
        link = self.network.link(client)
        self.machine.accept(link)
        return link

    @property
    def node(self) -> EchoNode:
        assert isinstance(self.machine.node, EchoNode)
        return self.machine.node

    def run(self, seconds: int = 100) -> None:
        self.scheduler.run_until(self.scheduler.now_us + seconds * SECOND)


@pytest.mark.parametrize("drips", [0.0, 1.0])
def test_bytes_arrive_complete_and_in_order(drips: float) -> None:
    for seed in SEEDS:
        world = World(seed, NetworkProfile(drips=drips, drip_bytes=5_000, chunk_bytes_max=100))
        payload = bytes(range(33)) * 20 + bytes(range(34, 128)) * 3
        world.link.send(payload[:500])
        world.link.send(payload[500:])
        world.run()
        assert world.client.data == payload
        assert max(world.client.chunks) <= (1 if drips else 100)


def test_a_cut_falls_on_any_byte_and_both_ends_learn_it() -> None:
    passed = set()
    for seed in SEEDS:
        world = World(seed)
        world.link.cut_after(7)
        world.link.send(b"x" * 20)
        world.run()
        assert world.client.ended
        assert world.node.connections[0].was_closed
        assert not world.link.open
        passed.add(len(world.node.seen) + len(world.client.data))
    assert passed == {7}


def test_half_open_tells_only_one_end() -> None:
    world = World(1)
    world.link.lose_server_side()
    other = Client()
    world.dial(other).lose_client_side()
    world.run()
    assert [connection.was_closed for connection in world.node.connections] == [False, True]
    assert world.client.ended
    assert not other.ended


def test_a_black_hole_holds_everything_back_and_then_lets_it_go() -> None:
    world = World(1)
    world.link.stall(5 * SECOND)
    world.link.send(b"hello")
    world.run(seconds=4)
    assert world.node.seen == b""
    world.run()
    assert world.client.data == b"hello"


def test_a_client_that_never_reads_stops_the_node_from_reading() -> None:
    world = World(1, NetworkProfile(chunk_bytes_max=10_000))
    world.link.client_reads = False
    for _ in range(100):
        world.link.send(b"x" * 10_000)
    world.run()
    assert not world.node.connections[0].reading
    assert len(world.node.seen) < 400_000
    world.link.client_reads = True
    world.link.to_client.wake()
    world.run(1_000)
    assert len(world.client.data) == 1_000_000


def test_a_node_that_closes_has_its_last_words_heard() -> None:
    heard = set()
    for seed in SEEDS:
        world = World(seed)
        world.link.send(b"bye!")
        world.run()
        assert world.client.ended
        heard.add(world.client.data)
    assert b"bye!" in heard


def test_a_client_that_closes_is_noticed() -> None:
    world = World(1)
    world.link.close_by_client()
    world.run()
    assert world.node.connections[0].was_closed
    assert world.machine.sockets == {}


def test_nobody_listens_after_a_crash_until_the_next_boot() -> None:
    world = World(1)
    world.machine.crash()
    world.run()
    assert world.client.ended
    refused = Client()
    world.dial(refused)
    assert refused.ended
    world.machine.boot(EchoNode)
    again = Client()
    world.dial(again).send(b"there?")
    world.run()
    assert again.data == b"there?"


def test_no_event_of_a_dead_process_reaches_the_next_one() -> None:
    for seed in SEEDS:
        world = World(seed)
        world.link.send(b"x" * 1000)
        world.scheduler.run_until(2 * MS)
        world.machine.crash()
        world.machine.boot(EchoNode)
        world.run()
        assert world.node.seen == b""
        assert world.client.ended


def test_the_end_of_a_process_is_told_and_the_process_taken_away() -> None:
    world, states = World(1), list[str]()
    world.machine.on_state = states.append
    world.machine.shut_down()
    assert states == ["stopped"]
    world.machine.reap()
    assert world.machine.node is None


def test_ticks_come_when_they_are_due_by_the_machine_s_own_clock() -> None:
    world = World(1)
    world.run(seconds=3)
    assert world.node.ticks_ms == [EPOCH_MS + 1_000, EPOCH_MS + 2_000, EPOCH_MS + 3_000]
    world.machine.clock.skew_ms = 500
    world.run(seconds=1)
    assert world.node.ticks_ms[-1] == EPOCH_MS + 4_500
