"""Outgoing connections on real sockets: asked, answered, refused, cut, hung, and gone when the node is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from penstock.core.node.links.link import Address
from penstock.core.node.links.links import Links
from penstock.core.node.links.purposes import CONTROL, RAFT
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.metadata import MetadataRequest, MetadataResponse
from penstock.core.wire.schema import Request, Response
from penstock.shell.dialing import Dialing
from penstock.shell.main import Host
from tests.shell.hosting import hosted, run, until

LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [uvloop.new_event_loop, asyncio.SelectorEventLoop]
LOOPBACK = "127.0.0.1"
LONG_MS, SHORT_MS = 20_000, 100
Loop = Callable[[], asyncio.AbstractEventLoop]

each_loop = pytest.mark.parametrize("loop", LOOPS, ids=["uvloop", "asyncio"])


class Caller:
    """A node's links on its own sockets."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.dialing = Dialing(host.server)
        self.links = Links(host.node, self.dialing, "node-1")
        self.refused: list[Address] = []
        self.links.refused = self.refused.append

    async def ask(
        self, to: Address, request: Request, timeout_ms: int = LONG_MS, purpose: str = RAFT
    ) -> Response | None:
        answer: asyncio.Future[Response | None] = asyncio.get_running_loop().create_future()
        self.begin(to, request, timeout_ms, answer.set_result, purpose)
        return await answer

    def begin(
        self,
        to: Address,
        request: Request,
        timeout_ms: int = LONG_MS,
        done: Callable[[Response | None], None] = lambda response: None,
        purpose: str = RAFT,
    ) -> None:
        self.host.server.turn(lambda: self.links.ask(to, purpose, request, timeout_ms, done))

    @property
    def itself(self) -> Address:
        return Address(LOOPBACK, self.host.addresses[0][1])


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[Caller]:
    async with hosted(folder) as host:
        caller = Caller(host)
        yield caller
        caller.dialing.close()
        await until(lambda: not caller.dialing.calls, "every handle is gone")


def listening() -> tuple[socket.socket, Address]:
    bound = socket.create_server((LOOPBACK, 0))
    bound.setblocking(False)
    return bound, Address(LOOPBACK, bound.getsockname()[1])


async def accepted(bound: socket.socket) -> socket.socket:
    peer, _ = await asyncio.get_running_loop().sock_accept(bound)
    return peer


@each_loop
def test_a_node_asks_and_is_answered(tmp_path: Path, loop: Loop) -> None:
    async def test() -> None:
        async with calling(tmp_path) as caller:
            for purpose in (RAFT, CONTROL, RAFT):
                answer = await caller.ask(caller.itself, MetadataRequest(topics=None), purpose=purpose)
                assert isinstance(answer, MetadataResponse)
                assert [broker.node_id for broker in answer.brokers] == [1]
            assert len(caller.dialing.calls) == 2
            assert len(caller.host.node.connections) == 2
        assert caller.host.node.state == "stopped"

    run(test, loop)


@each_loop
def test_many_questions_share_a_wire_and_keep_their_order(tmp_path: Path, loop: Loop) -> None:
    async def test() -> None:
        async with calling(tmp_path) as caller:
            names = [f"topic-{number}" * 1_000 for number in range(60)]
            found = list[str]()
            for name in names:
                request = HeartbeatRequest(group_id=name, generation_id=1, member_id="m")
                caller.begin(caller.itself, request, done=lambda _, name=name: found.append(name))  # type: ignore[misc]
            await until(lambda: len(found) == len(names), "all are answered")
            assert found == names
            assert len(caller.dialing.calls) == 1

    run(test, loop)


@each_loop
@pytest.mark.parametrize("name", [LOOPBACK, "localhost"])
def test_nobody_listens(tmp_path: Path, loop: Loop, name: str) -> None:
    async def test() -> None:
        async with calling(tmp_path) as caller:
            bound, address = listening()
            bound.close()
            there = address._replace(host=name)
            assert await caller.ask(there, MetadataRequest(topics=None)) is None
            assert caller.refused == [there]
            caller.host.server.turn(lambda: caller.links.probe(there))
            await until(lambda: caller.refused == [there, there], "the probe is refused")

    run(test, loop)


@each_loop
def test_a_name_that_nobody_has_is_not_a_refusal(tmp_path: Path, loop: Loop) -> None:
    async def test() -> None:
        async with calling(tmp_path) as caller:
            assert await caller.ask(Address("no such host", 9092), MetadataRequest(topics=None)) is None
            assert caller.refused == []

    run(test, loop)


@each_loop
def test_a_peer_that_hangs_up_is_dialled_again(tmp_path: Path, loop: Loop) -> None:
    async def test() -> None:
        async with calling(tmp_path) as caller:
            bound, address = listening()
            for _ in range(3):
                asking = asyncio.ensure_future(caller.ask(address, MetadataRequest(topics=None)))
                (await accepted(bound)).close()
                assert await asking is None
            assert caller.refused == []
            bound.close()

    run(test, loop)


@each_loop
def test_a_peer_that_never_answers_is_given_up(tmp_path: Path, loop: Loop) -> None:
    async def test() -> None:
        async with calling(tmp_path) as caller:
            bound, address = listening()
            assert await caller.ask(address, MetadataRequest(topics=None), SHORT_MS) is None
            assert isinstance(await caller.ask(caller.itself, MetadataRequest(topics=None)), MetadataResponse)
            bound.close()

    run(test, loop)


@each_loop
def test_closing_leaves_no_handle_of_a_dial_that_hangs(tmp_path: Path, loop: Loop) -> None:
    """A full backlog lets a dial neither succeed nor fail."""

    async def test() -> None:
        async with calling(tmp_path) as caller:
            bound = socket.socket()
            bound.bind((LOOPBACK, 0))
            bound.listen(0)
            address = Address(LOOPBACK, bound.getsockname()[1])
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(address)
            found = list[Response | None]()
            caller.begin(address, MetadataRequest(topics=None), SHORT_MS, found.append)
            await until(lambda: found == [None], "the question is given up")
            assert len(caller.dialing.calls) == 1
            caller.host.server.turn(caller.links.close_all)
            await until(lambda: not caller.dialing.calls, "the dial is given up")
            for each in (bound, *fillers):
                each.close()

    run(test, loop)


@each_loop
def test_closing_leaves_no_handle_of_a_peer_that_does_not_read(tmp_path: Path, loop: Loop) -> None:
    class Deaf:
        """Says something until nobody listens any more."""

        def __init__(self) -> None:
            self.is_open = False
            self.lost_times = 0

        def opened(self) -> None:
            self.is_open = True

        def received(self, data: memoryview) -> None:
            raise AssertionError("nobody answers")

        def lost(self, refused: bool) -> None:
            self.lost_times += 1

    async def test() -> None:
        async with calling(tmp_path) as caller:
            bound, address = listening()
            events = Deaf()
            wire = caller.dialing.dial(*address, events)
            peer = await accepted(bound)
            await until(lambda: events.is_open, "it opens")
            for _ in range(20):
                wire.send([bytes(1 << 20)])
            assert caller.host.server.buffered_bytes > 0
            wire.reset()
            await until(lambda: not caller.dialing.calls, "its end")
            assert caller.host.server.buffered_bytes == 0
            assert events.lost_times == 0, "who hangs up is not told that it did"
            peer.settimeout(LONG_MS / 1000)
            with pytest.raises(ConnectionResetError):
                sum(len(data) for data in iter(lambda: peer.recv(1 << 20), b""))
            peer.close()
            bound.close()

    run(test, loop)


@each_loop
def test_what_is_lost_can_be_reset_and_has_no_socket_for_that(tmp_path: Path, loop: Loop) -> None:
    """As a link does that had asked something; behind TLS nothing is left of the transport by then."""

    class Resets:
        def __init__(self) -> None:
            self.is_open = False
            self.wire: Any = None
            self.lost_times = 0

        def opened(self) -> None:
            self.is_open = True

        def received(self, data: memoryview) -> None:
            raise AssertionError("nobody answers")

        def lost(self, refused: bool) -> None:
            self.wire.reset()
            self.lost_times += 1

    class WithoutSocket:
        def get_extra_info(self, name: str) -> None:
            return None

        def abort(self) -> None:
            raise AssertionError("it is gone already")

    async def test() -> None:
        async with calling(tmp_path) as caller:
            bound, address = listening()
            events = Resets()
            events.wire = caller.dialing.dial(*address, events)
            peer = await accepted(bound)
            await until(lambda: events.is_open, "it opens")
            events.wire._transport = WithoutSocket()
            peer.close()
            await until(lambda: events.lost_times == 1, "it is lost")
            bound.close()

    run(test, loop)


def test_a_mistake_of_ours_costs_one_connection(tmp_path: Path) -> None:
    class Clumsy:
        def __init__(self) -> None:
            self.lost_times = 0

        def opened(self) -> None:
            pass

        def received(self, data: memoryview) -> None:
            raise ValueError("a mistake")

        def lost(self, refused: bool) -> None:
            self.lost_times += 1

    async def test() -> None:
        async with calling(tmp_path) as caller:
            bound, address = listening()
            notes = list[str]()
            caller.host.node.event_log._tell = lambda fact: notes.append(fact.text)
            events = Clumsy()
            caller.dialing.dial(*address, events)
            peer = await accepted(bound)
            peer.send(b"anything")
            await until(lambda: events.lost_times == 1, "the connection is given up")
            assert any("a mistake" in text for text in notes)
            peer.close()
            bound.close()

    run(test)
