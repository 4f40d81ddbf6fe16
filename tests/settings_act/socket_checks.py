"""What broker settings do to a node's sockets and open files: these need a real one."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, redirect_stderr
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from penstock.core.base.settings import BrokerSettings
from penstock.core.node.observing.event_log import Tell
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.frames import parse_response_header, request_frame
from penstock.core.wire.schema import Request
from penstock.shell.main import Host, make_runner
from tests.node.world import fetch, response_of
from tests.settings_act.trial import NOTHING, Settings, Trial
from tests.waiting import wait_until

LOOPBACK = "127.0.0.1"
OTHER_LOOPBACK = "127.0.0.2"
BASE = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": f"PLAINTEXT://{LOOPBACK}:0,CONTROLLER://{LOOPBACK}:0",
    "controller.listener.names": "CONTROLLER",
    "penstock.disk.full.ratio": "1",
}
TIMEOUT_S = 10.0
DROPPED_AFTER_S = 0.3
Visit = Callable[[Host], Awaitable[Any]]


def visit(trial: Trial, what: Visit, others: Settings = NOTHING, tell: Tell | None = lambda fact: None) -> Any:
    """Start a real node, look at it on its own loop, and stop it."""
    with TemporaryDirectory() as folder, make_runner() as runner:
        given = {**BASE, "log.dirs": folder, **trial.settings(others)}
        settings = BrokerSettings({name: value for name, value in given.items() if value is not None})
        return runner.run(_visit(settings, what, tell))


async def _visit(settings: BrokerSettings, what: Visit, tell: Tell | None) -> Any:
    host = Host(settings, tell)
    try:
        await host.start()
        found = await what(host)
        assert await host.stop() == 0
        return found
    finally:
        host.close()


def connect(host: Host, receive_bytes: int | None = None) -> socket.socket:
    client = socket.socket()
    if receive_bytes is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    client.settimeout(TIMEOUT_S)
    client.connect(host.addresses[0])
    return client


def frame(request: Request, version: int) -> bytes:
    parts: list[Any] = request_frame(request, type(request).KEY, version, 1, "test")
    return b"".join(map(bytes, parts))


def ask(client: socket.socket, request: Request, version: int) -> Any:
    client.sendall(frame(request, version))
    with client.makefile("rb") as stream:
        data = stream.read(int.from_bytes(stream.read(4), "big"))
    _, position = parse_response_header(data, type(request).KEY, version)
    return response_of(request).decode(data, version, position)


def create(client: socket.socket, partitions: int) -> None:
    topic = CreatableTopic(name="t", num_partitions=partitions, replication_factor=1)
    assert ask(client, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics[0].error_code == 0


def fill(client: socket.socket, partitions: int, size: int) -> None:
    """One batch for each partition."""
    batch = bytes(build_batch([(None, bytes(size), (), 1_000)]))
    data = [PartitionProduceData(index=index, records=batch) for index in range(partitions)]
    topics = [TopicProduceData(name="t", partition_data=data)]
    answer = ask(client, ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics), 9)
    assert not any(each.error_code for each in answer.responses[0].partition_responses)


def machine_of_node(trial: Trial) -> str | None:
    """Where the node runs, as the metadata has it for whoever places replicas."""

    async def look(host: Host) -> str | None:
        return host.node.image.brokers[1].host

    found: str | None = visit(trial, look)
    return found


# Listening


def is_reachable(trial: Trial, at: str) -> bool:
    async def look(host: Host) -> bool:
        with socket.socket() as client:
            return client.connect_ex((at, host.addresses[0][1])) == 0

    return bool(visit(trial, look))


def has_room_for_ten_strangers(trial: Trial) -> bool:
    """Whether ten connections are made while the node has no time to take them: this holds its loop up."""

    async def look(host: Host) -> bool:
        with ExitStack() as stack:
            clients = [stack.enter_context(socket.socket()) for _ in range(10)]
            for client in clients:
                client.setblocking(False)
                client.connect_ex(host.addresses[0])
            return _all_connect(clients)

    return bool(visit(trial, look))


def _all_connect(clients: list[socket.socket]) -> bool:
    """A full backlog drops the first packet of a connection, which is sent again only after a second."""
    waiting = clients
    while waiting:
        _, connected, _ = select.select([], waiting, [], DROPPED_AFTER_S)
        if not connected:
            return False
        waiting = [client for client in waiting if client not in connected]
    return True


def buffer_bytes(trial: Trial, option: int) -> int:
    """The size of an accepted socket's buffer. Linux books twice what was asked for."""

    async def look(host: Host) -> int:
        with connect(host):
            await asyncio.to_thread(wait_until, lambda: bool(host.server.clients))
            (client,) = host.server.clients.values()
            accepted: socket.socket = client._transport.get_extra_info("socket")
            return accepted.getsockopt(socket.SOL_SOCKET, option)

    found: int = visit(trial, look)
    return found


# Logs and metrics


def logs_objects(trial: Trial) -> bool:
    """Whether what a node says on stderr is JSON, line by line."""
    said = StringIO()

    async def look(host: Host) -> None:
        pass

    with redirect_stderr(said):
        visit(trial, look, tell=None)
    lines = said.getvalue().splitlines()
    assert lines, "a node says that it is ready"
    return all(line.startswith("{") and json.loads(line)["component"] for line in lines)


def has_metrics(trial: Trial) -> bool:
    async def look(host: Host) -> bool:
        return await asyncio.to_thread(_is_answered, LOOPBACK, host.http_port)

    return bool(visit(trial, look))


def has_metrics_at(trial: Trial, at: str) -> bool:
    async def look(host: Host) -> bool:
        return await asyncio.to_thread(_is_answered, at, host.http_port)

    return bool(visit(trial, look, {"penstock.metrics.port": "0"}))


def metrics_answer(trial: Trial, credentials: str = "", **others: str) -> int:
    """With which status whoever asks is answered."""

    async def look(host: Host) -> int:
        return await asyncio.to_thread(_status, host.http_port, credentials)

    return int(visit(trial, look, _with_metrics(others)))


def _with_metrics(others: Mapping[str, str]) -> Settings:
    return {"penstock.metrics.port": "0", **{name.replace("_", "."): value for name, value in others.items()}}


def _status(port: int | None, credentials: str) -> int:
    told = {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"} if credentials else {}
    try:
        with urlopen(HttpRequest(f"http://{LOOPBACK}:{port}/metrics", headers=told), timeout=TIMEOUT_S) as answer:
            return int(answer.status)
    except HTTPError as refused:
        return refused.code


def speaks_tls(trial: Trial, **store: str) -> bool:
    """Whether metrics are behind a handshake."""

    async def look(host: Host) -> bool:
        return await asyncio.to_thread(_shakes_hands, host.http_port)

    return bool(visit(trial, look, _with_metrics(store)))


def _shakes_hands(port: int | None) -> bool:
    context = ssl._create_unverified_context()
    try:
        with urlopen(f"https://{LOOPBACK}:{port}/metrics", timeout=TIMEOUT_S, context=context) as answer:
            return bool(answer.status == 200)
    except URLError:
        return False


def _is_answered(at: str, port: int | None) -> bool:
    if port is None:
        return False
    try:
        with urlopen(f"http://{at}:{port}/health/live", timeout=TIMEOUT_S) as answer:
            return bool(answer.status == 200)
    except URLError:
        return False


# Memory and files


def open_files_within(trial: Trial, count: int) -> bool:
    """Forty partitions are written to; how many files of the folder this process then has open."""

    def use(host: Host) -> int:
        with connect(host) as client:
            create(client, 40)
            fill(client, 40, 10)
            return len(_open_files(host.node.settings.log_dir))

    async def look(host: Host) -> int:
        return await asyncio.to_thread(use, host)

    return bool(visit(trial, look) <= count)


def _open_files(folder: str) -> list[str]:
    descriptors = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    paths = [os.readlink(each) for each in descriptors if os.path.islink(each)]
    return [path for path in paths if path.startswith(folder) and path.endswith(".log")]


def makes_slow_readers_wait(trial: Trial) -> bool:
    """Two dozen clients ask for much and read nothing: whether some of it stays on disk until others have read. With
    `sendfile` all of it does, so this is about where there is none, and about cold pages."""

    def use(host: Host) -> bool:
        host.server.direct = False
        with ExitStack() as stack:
            first = stack.enter_context(connect(host))
            create(first, 1)
            fill(first, 1, 1_000_000)
            for _ in range(24):
                slow = stack.enter_context(connect(host, receive_bytes=4096))
                slow.sendall(frame(fetch({("t", 0): 0}), 11))
            server = host.server
            wait_until(lambda: bool(server.starved) or server.buffered_bytes > (1 << 20) + (1 << 18))
            return bool(server.starved)

    async def look(host: Host) -> bool:
        return await asyncio.to_thread(use, host)

    return bool(visit(trial, look, {"socket.send.buffer.bytes": "16384"}))
