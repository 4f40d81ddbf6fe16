"""A whole node on the test's own loop, and clients that talk to it byte by byte."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from penstock.core.base.settings import BrokerSettings
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.frames import parse_response_header, request_frame
from penstock.core.wire.schema import Request, Response
from penstock.shell.main import Host
from penstock.testing.serving import Ports, node_settings
from tests.node.world import NOW_MS, response_of

STEP_S_MAX = 20.0
SMALL_SOCKET_BYTES = 16 * 1024
# Left to itself the system keeps up to four megabytes for a peer that does not read: how many depends on the machine.
SOCKETS = {"socket.send.buffer.bytes": str(256 * 1024)}


def run(
    test: Callable[[], Awaitable[None]], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> None:
    with asyncio.Runner(loop_factory=loop_factory, debug=loop_factory is None) as runner:
        runner.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


@asynccontextmanager
async def hosted(folder: Path, settings: dict[str, str] | None = None, direct: bool = True) -> AsyncIterator[Host]:
    notes: list[tuple[str, str]] = []
    given = node_settings({**SOCKETS, **(settings or {})}, str(folder), Ports())
    host = Host(BrokerSettings(given), lambda fact: notes.append((fact.level, fact.text)))
    host.server.direct = host.server.direct and direct
    try:
        await host.start()
        yield host
        if host.node.state == "running":
            assert await host.stop() == 0
        assert not [text for level, text in notes if level == "error"], notes
    finally:
        host.close()
        # The loop tells each protocol that its connection is lost; until then files are pinned.
        await until(lambda: not host.server.clients)


async def until(condition: Callable[[], bool], what: str = "the condition") -> None:
    """Lets the loop run until the condition holds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STEP_S_MAX
    while not condition():
        assert loop.time() < deadline, f"{what} did not come true"
        await asyncio.sleep(0)


class Peer:
    """A client with a socket of its own; it reads only when told to."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._asked: deque[tuple[type[Response], int, int]] = deque()
        self._number = 0

    @classmethod
    async def connect(cls, host: Host, small: bool = False) -> Peer:
        sock = socket.socket()
        sock.setblocking(False)
        if small:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_SOCKET_BYTES)
        await asyncio.get_running_loop().sock_connect(sock, host.addresses[0])
        return cls(sock)

    @property
    def port(self) -> int:
        return int(self.sock.getsockname()[1])

    def frame(self, request: Request, version: int) -> bytes:
        self._number += 1
        self._asked.append((response_of(request), version, self._number))
        parts: list[Any] = request_frame(request, type(request).KEY, version, self._number, "peer")
        return b"".join(map(bytes, parts))

    async def send(self, request: Request, version: int) -> None:
        await self.send_bytes(self.frame(request, version))

    async def send_bytes(self, data: bytes) -> None:
        await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(self.sock, data), STEP_S_MAX)

    async def reply(self) -> Any:
        response, version, number = self._asked.popleft()
        (size,) = struct.unpack(">i", await self._exactly(4))
        frame = await self._exactly(size)
        found, position = parse_response_header(frame, response.KEY, version)
        assert found == number, "replies are out of order"
        return response.decode(frame, version, position)

    async def skip(self) -> None:
        """The next reply without a look at it."""
        _, _, number = self._asked.popleft()
        (size,) = struct.unpack(">i", await self._exactly(4))
        assert struct.unpack(">i", (await self._exactly(size))[:4]) == (number,), "replies are out of order"

    async def ask(self, request: Request, version: int) -> Any:
        await self.send(request, version)
        return await self.reply()

    async def _exactly(self, count: int) -> bytes:
        loop, data = asyncio.get_running_loop(), bytearray()
        while len(data) < count:
            piece = await asyncio.wait_for(loop.sock_recv(self.sock, min(count - len(data), 1 << 20)), STEP_S_MAX)
            assert piece, "the node closed the connection"
            data += piece
        return bytes(data)

    async def is_closed(self) -> bool:
        """Waits for the node to close; whatever comes before that is thrown away."""
        loop = asyncio.get_running_loop()
        try:
            while await asyncio.wait_for(loop.sock_recv(self.sock, 1 << 20), STEP_S_MAX):
                pass
        except ConnectionError:
            pass
        self.close()
        return True

    def close(self) -> None:
        self.sock.close()

    async def create(self, name: str, partitions: int = 1) -> None:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        answer = await self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
        assert answer.topics[0].error_code == 0

    async def fill(self, topic: str, megabytes: int) -> None:
        """One batch per megabyte, a little smaller than that."""
        for _ in range(megabytes):
            batch = bytes(build_batch([(None, bytes(1_000_000), (), NOW_MS)]))
            data = [PartitionProduceData(index=0, records=batch)]
            topics = [TopicProduceData(name=topic, partition_data=data)]
            answer = await self.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 9)
            assert answer.responses[0].partition_responses[0].error_code == 0
