"""Who hurts a door on purpose: slowly, half, in old words or in none, or without a goodbye; and others get in."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.frames import request_frame
from penstock.shell import handshakes
from penstock.shell.handshakes import Door
from penstock.shell.main import Host
from tests.shell.hosting import STEP_S_MAX, run, until
from tests.shell.test_descriptors import limited
from tests.shell.test_tls import LOOPS, Caller, context, hosted, test

test.__test__ = False  # type: ignore[attr-defined]
IDS = ["asyncio", "uvloop"]
READ_BYTES = 1 << 16


def door_of(host: Host) -> Door:
    return next(each for each in host._listening if isinstance(each, Door))


class Shaker:
    """The client's side of TLS, whose bytes go where the test puts them."""

    def __init__(self, tls: ssl.SSLContext, sock: socket.socket) -> None:
        self.sock = sock
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.wrap_bio(self._in, self._out, server_hostname="localhost")

    @classmethod
    async def connect(cls, port: int, tls: ssl.SSLContext) -> Shaker:
        sock = socket.socket()
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        return cls(tls, sock)

    def said(self) -> bytes:
        """What is to be sent."""
        return self._out.read()

    def hello(self) -> bytes:
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.said()

    async def shake(self) -> None:
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await self.send(self.said())
                self._in.write(await self.heard())
            else:
                break
        await self.send(self.said())

    async def send(self, data: bytes) -> None:
        await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(self.sock, data), STEP_S_MAX)

    async def heard(self) -> bytes:
        return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.sock, READ_BYTES), STEP_S_MAX)

    async def is_sent_away(self) -> bytes:
        """Gives what came before."""
        heard = b""
        with suppress(ConnectionError):
            while data := await self.heard():
                heard += data
        self.sock.close()
        return heard

    async def dribbles_until_sent_away(self, data: bytes) -> int:
        """One byte after the other; gives how many were taken."""
        loop, sent = asyncio.get_running_loop(), 0
        end = asyncio.ensure_future(self.is_sent_away())
        with suppress(OSError):
            while not end.done() and sent < len(data):
                await loop.sock_sendall(self.sock, data[sent : sent + 1])
                sent += 1
                await asyncio.wait({end}, timeout=0.001)
        await end
        return sent


def plain_frame() -> bytes:
    request = ApiVersionsRequest(client_software_name="c", client_software_version="1")
    parts: list[Any] = request_frame(request, ApiVersionsRequest.KEY, 3, 1, "c")
    return b"".join(parts)


@pytest.mark.parametrize("loop", LOOPS, ids=IDS)
def test_a_hello_that_never_ends(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "SILENT_S_MAX", 0.2)

    async def body() -> None:
        async with hosted(tmp_path, []) as host:
            shaker = await Shaker.connect(host.addresses[0][1], context(tmp_path))
            endless = b"\x16\x03\x01\x40\x00" + bytes(1 << 14)
            assert await shaker.dribbles_until_sent_away(endless) < len(endless)
            assert not host.node.connections

    test(body, loop)


@pytest.mark.parametrize("loop", LOOPS, ids=IDS)
def test_a_handshake_that_never_ends(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_S_MAX", 0.2)

    async def body() -> None:
        async with hosted(tmp_path, []) as host:
            shaker = await Shaker.connect(host.addresses[0][1], context(tmp_path))
            await shaker.send(shaker.hello())
            endless = b"\x17\x03\x03\x40\x00" + bytes(1 << 14)
            assert await shaker.dribbles_until_sent_away(endless) < len(endless)
            assert not host.node.connections

    test(body, loop)


@pytest.mark.parametrize("loop", LOOPS, ids=IDS)
def test_who_does_not_go_on_gives_way(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKES_MAX", 4)
    monkeypatch.setattr(handshakes, "HANDSHAKE_S_MAX", 3600)
    monkeypatch.setattr(handshakes, "SLOW_S_MAX", 0.1)

    async def body() -> None:
        async with hosted(tmp_path, []) as host:
            port, tls = host.addresses[0][1], context(tmp_path)
            stuck = [await Shaker.connect(port, tls) for _ in range(20)]
            for each in stuck:
                await each.send(each.hello())
            caller = await Caller.call(port, tls)
            await caller.greet()
            for each in stuck[:8]:
                await each.is_sent_away()
            assert len(door_of(host)._shaking) <= 4
            await caller.hang_up()
            for each in stuck[8:]:
                each.sock.close()

    test(body, loop)


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS, ids=IDS)
def test_those_who_wait_for_their_turn_are_bounded(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKES_MAX", 2)
    monkeypatch.setattr(handshakes, "SILENT_MAX", 10)
    monkeypatch.setattr(handshakes, "SLOW_S_MAX", 0.05)
    waiting: list[int] = []
    usual = Door._pump

    def counted(door: Door) -> None:
        waiting.append(len(door._greeted) + len(door._silent))
        usual(door)

    monkeypatch.setattr(Door, "_pump", counted)

    async def body() -> None:
        async with hosted(tmp_path, []) as host:
            port, tls = host.addresses[0][1], context(tmp_path)
            crowd = [await Shaker.connect(port, tls) for _ in range(40)]
            for each in crowd:
                await each.send(each.hello())
            caller = await Caller.call(port, tls)
            await caller.greet()
            await caller.hang_up()
            for each in crowd:
                each.sock.close()
        assert max(waiting) <= 10

    test(body, loop)


def test_a_door_without_descriptors_rests(tmp_path: Path) -> None:
    async def body() -> None:
        notes: list[str] = []
        async with hosted(tmp_path, notes) as host:
            door, port = door_of(host), host.addresses[0][1]
            dialling = socket.socket()
            dialling.setblocking(False)
            with limited(dialling.fileno() + 1), suppress(BlockingIOError):
                dialling.connect(("127.0.0.1", port))
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            assert files > dialling.fileno()
            with limited(dialling.fileno() + 1):
                await until(lambda: door._paused is not None, what="that nobody is taken")
                assert not asyncio.get_running_loop().remove_reader(door._bound), "it is told in every round"
            caller = await Caller.call(port, context(tmp_path))
            await caller.greet()
            await caller.hang_up()
            dialling.close()

    run(body)


@pytest.mark.parametrize("loop", LOOPS, ids=IDS)
def test_who_never_says_goodbye(tmp_path: Path, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "GOODBYE_S_MAX", 0.1)

    async def body() -> None:
        async with hosted(tmp_path, []) as host:
            shaker = await Shaker.connect(host.addresses[0][1], context(tmp_path))
            await shaker.shake()
            await until(lambda: len(host.node.connections) == 1)
            shaker.tls.write(struct.pack(">i", -1))
            await shaker.send(shaker.said())
            await shaker.is_sent_away()
            await until(lambda: not host.server.clients)

    test(body, loop)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1], ids=str)
def test_old_versions_are_refused(tmp_path: Path, version: ssl.TLSVersion) -> None:
    async def body() -> None:
        notes: list[str] = []
        async with hosted(tmp_path, notes) as host:
            old = context(tmp_path)
            old.minimum_version = old.maximum_version = version
            old.set_ciphers("ALL:@SECLEVEL=0")
            with pytest.raises((ssl.SSLError, ConnectionError)):  # Whether it hears why depends on the loop.
                await Caller.call(host.addresses[0][1], old)
            host.node.event_log.flush()
            assert any("UNSUPPORTED_PROTOCOL" in note for note in notes), notes

    run(body)


@pytest.mark.parametrize("loop", LOOPS, ids=IDS)
def test_nobody_goes_back_to_speaking_plainly(tmp_path: Path, loop: Any) -> None:
    async def body() -> None:
        notes: list[str] = []
        async with hosted(tmp_path, notes) as host:
            shaker = await Shaker.connect(host.addresses[0][1], context(tmp_path))
            await shaker.shake()
            await shaker.send(plain_frame())
            heard = await shaker.is_sent_away()
            assert b"\0\0\0\1" not in heard[:8], "a plain answer"
            await until(lambda: not host.server.clients)
            assert host.node.metrics.malformed == 0
            caller = await Caller.call(host.addresses[0][1], context(tmp_path))
            await caller.greet()
            await caller.hang_up()

    test(body, loop)


def test_a_hello_at_a_plain_listener(tmp_path: Path) -> None:
    async def body() -> None:
        async with hosted(
            tmp_path, [], listener_security_protocol_map="CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ) as host:
            shaker = await Shaker.connect(host.addresses[0][1], context(tmp_path))
            await shaker.send(shaker.hello())
            assert await shaker.is_sent_away() == b""
            assert host.node.metrics.malformed == 1

    run(body)
