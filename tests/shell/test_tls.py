"""A listener that encrypts: nothing is readable on the wire, certificates are renewed, and nobody holds up the door."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop

from penstock.core.base.settings import BrokerSettings
from penstock.core.records.build import build_batch
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.frames import parse_response_header, request_frame
from penstock.core.wire.schema import Request
from penstock.shell import handshakes, tls_contexts
from penstock.shell.main import CannotStart, Host
from penstock.tls.names import distinguished_name
from tests.node.world import NOW_MS, fetch, found_in, response_of
from tests.shell.hosting import STEP_S_MAX, run, until
from tests.tls.certificates import Files, files

SECRET = b"a secret that nobody else may read "
LARGE = SECRET * 30_000
"""More than a megabyte: where nothing encrypts it goes from the file to the socket, past this process."""

LOOPS = [None, uvloop.new_event_loop]


@asynccontextmanager
async def hosted(folder: Path, notes: list[str], **settings: str) -> AsyncIterator[Host]:
    own = files(folder, "node")
    given = {
        "node.id": "1",
        "process.roles": "broker,controller",
        "listeners": "CLIENTS://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENTS:SSL,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:1",
        "log.dirs": str(folder / "data"),
        "penstock.disk.full.ratio": "1",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": own.pem,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    host = Host(BrokerSettings(given), lambda fact: notes.append(fact.text))
    try:
        await host.start()
        yield host
        assert await host.stop() == 0
    finally:
        host.close()
        await until(lambda: not host.server.clients)


def context(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "node.ca.pem"))


class Caller:
    """A client over the standard streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def call(cls, port: int, tls: ssl.SSLContext) -> Caller:
        dialled = asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname="localhost")
        return cls(*await asyncio.wait_for(dialled, STEP_S_MAX))

    @property
    def name(self) -> str:
        return distinguished_name(self.writer.get_extra_info("peercert"))

    async def ask(self, request: Request, version: int) -> Any:
        parts: list[Any] = request_frame(request, type(request).KEY, version, 1, "caller")
        self.writer.write(b"".join(map(bytes, parts)))
        (size,) = struct.unpack(">i", await asyncio.wait_for(self.reader.readexactly(4), STEP_S_MAX))
        frame = await asyncio.wait_for(self.reader.readexactly(size), STEP_S_MAX)
        response = response_of(request)
        _, position = parse_response_header(frame, response.KEY, version)
        return response.decode(frame, version, position)

    async def greet(self) -> None:
        answer = await self.ask(ApiVersionsRequest(client_software_name="c", client_software_version="1"), 3)
        assert answer.error_code == 0

    async def hang_up(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


class Tap:
    """Stands between a client and a node, and writes down what goes by."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tasks: list[asyncio.Task[None]] = []
        self.heard = bytearray()

    async def __aenter__(self) -> int:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        for source, target in ((reader, back), (there, writer)):
            self._tasks.append(asyncio.create_task(self._carry(source, target)))

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                self.heard += data
                target.write(data)
                await target.drain()
        target.close()


def test(body: Callable[[], Awaitable[None]], loop: Any) -> None:
    run(body, loop)


test.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
def test_nothing_is_readable_on_the_wire(tmp_path: Path, loop: Any) -> None:
    async def body() -> None:
        notes: list[str] = []
        async with hosted(tmp_path, notes) as host:
            tap = Tap(host.addresses[0][1])
            async with tap as port:
                caller = await Caller.call(port, context(tmp_path))
                topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
                await caller.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
                for value in (SECRET, LARGE[: len(LARGE) // 2], LARGE[: len(LARGE) // 2]):
                    batch = bytes(build_batch([(None, value, (), NOW_MS)]))
                    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch)])
                    produced = await caller.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9)
                    assert produced.responses[0].partition_responses[0].error_code == 0
                sizes = []
                for offset in (0, 1):
                    wanted = fetch({("t", 0): offset}, max_bytes=1 << 22, partition_bytes=1 << 22)
                    records = bytes(found_in(await caller.ask(wanted, 11))["t", 0].records)
                    sizes.append(records.count(SECRET))
                await caller.hang_up()
            assert sizes == [30_001, 30_000]
            assert len(tap.heard) > 4 * len(LARGE) // 2
            assert SECRET not in tap.heard
            assert SECRET[:12] not in tap.heard

    test(body, loop)


@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
def test_certificates_are_renewed_while_running(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_contexts, "LOOK_EVERY_US", 0)

    async def body() -> None:
        notes: list[str] = []
        async with hosted(tmp_path, notes) as host:
            call = partial(Caller.call, host.addresses[0][1], context(tmp_path))
            first = await call()
            assert first.name == "CN=node"
            newer = files(tmp_path, "newer")
            shutil.copy(newer.pem, tmp_path / "node.pem")
            second = await call()
            assert second.name == "CN=newer"
            (tmp_path / "node.pem").write_text("nonsense")
            third = await call()
            assert third.name == "CN=newer"
            host.node.event_log.flush()
            assert any("goes on with the certificates it has" in note for note in notes)
            for caller in (first, second, third):
                await caller.greet()
                await caller.hang_up()

    test(body, loop)


@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
def test_who_says_nothing_keeps_nobody_out(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "SILENT_MAX", 20)
    # None goes by itself: each gives way to the next, until it is the caller's turn.
    monkeypatch.setattr(handshakes, "SILENT_S_MAX", 3600)
    monkeypatch.setattr(handshakes, "GRACE_S", 0.05)

    async def body() -> None:
        async with hosted(tmp_path, []) as host:
            port = host.addresses[0][1]
            silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
            half = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
            for sock in half:
                sock.sendall(b"\x16\x03\x01\x02\x00only the beginning of a hello")
            caller = await Caller.call(port, context(tmp_path))
            await caller.greet()
            assert host.node.metrics.malformed == 0
            assert len(host.node.connections) == 1
            silent[0].setblocking(False)
            gone = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(silent[0], 1), STEP_S_MAX)
            assert gone == b"", "the oldest of those who say nothing has to go"
            await caller.hang_up()
            for sock in (*silent, *half):
                sock.close()

    test(body, loop)


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
def test_a_crowd_is_let_in_a_few_at_a_time(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    usual = handshakes.Door._pump

    def counted(door: handshakes.Door) -> None:
        before = len(door._shaking)
        usual(door)
        begun.append(len(door._shaking) - before)

    monkeypatch.setattr(handshakes.Door, "_pump", counted)

    async def body() -> None:
        async with hosted(tmp_path, []) as host:
            port = host.addresses[0][1]
            callers = await asyncio.gather(*(Caller.call(port, context(tmp_path)) for _ in range(60)))
            await asyncio.gather(*(caller.greet() for caller in callers))
            assert len(host.node.connections) == 60
            await asyncio.gather(*(caller.hang_up() for caller in callers))
        assert sum(begun) == 60
        assert max(begun) <= handshakes.HANDSHAKES_PER_ROUND_MAX

    test(body, loop)


def test_who_speaks_plainly_is_sent_away(tmp_path: Path) -> None:
    async def body() -> None:
        notes: list[str] = []
        async with hosted(tmp_path, notes) as host:
            reader, writer = await asyncio.open_connection("127.0.0.1", host.addresses[0][1])
            writer.write(b"\0\0\0\x10\0\x12\0\0")
            with suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), STEP_S_MAX) == b""
            writer.close()
            host.node.event_log.flush()
            assert any("security.protocol=SSL" in note for note in notes)

    run(body)


def test_a_certificate_names_a_principal(tmp_path: Path) -> None:
    async def body() -> None:
        alice: Files = files(tmp_path, "Alice")
        required = {
            "ssl_client_auth": "required",
            "ssl_truststore_type": "PEM",
            "ssl_truststore_location": alice.ca,
            "ssl_principal_mapping_rules": "RULE:^CN=(.*)$/$1/L",
        }
        async with hosted(tmp_path, [], **required) as host:
            port = host.addresses[0][1]
            tls = context(tmp_path)
            with pytest.raises((OSError, EOFError)):  # Which one depends on when it hears.
                await (await Caller.call(port, tls)).greet()
            tls.load_cert_chain(alice.certificate, alice.key)
            caller = await Caller.call(port, tls)
            await caller.greet()
            (connection,) = host.node.connections
            assert str(connection.context.principal) == "User:alice"
            await caller.hang_up()

    run(body)


def test_a_node_without_a_usable_certificate_does_not_start(tmp_path: Path) -> None:
    async def body() -> None:
        with pytest.raises(CannotStart, match="cannot read /nowhere"):
            async with hosted(tmp_path, [], ssl_keystore_location="/nowhere"):
                pass

    run(body)
