"""Sockets: who is slow holds up nobody else, and costs no more memory than the settings allow."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import uvloop

from penstock.core.base.settings import BrokerSettings
from penstock.core.node.observing.event_log import Fact
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.shell.event_lines import printing
from penstock.shell.main import Host, make_runner, serve
from penstock.shell.outbox import CHUNK_BYTES, GATHERED_BYTES_MAX, Outbox
from penstock.testing.serving import Ports, node_settings
from tests.node.world import fetch, found_in, produce, values_of
from tests.shell.hosting import Peer, hosted, run, until

LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [uvloop.new_event_loop, asyncio.SelectorEventLoop]
MIB = 1 << 20
SHARED_BYTES = 128 * 1024

each_way = pytest.mark.parametrize("direct", [True, False], ids=["sendfile", "read"])
each_loop = pytest.mark.parametrize("loop", LOOPS, ids=["uvloop", "asyncio"])


@each_way
@each_loop
def test_a_node_serves_on_either_loop(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop], direct: bool
) -> None:
    async def test() -> None:
        async with hosted(tmp_path, direct=direct) as host:
            peer = await Peer.connect(host)
            await peer.create("t")
            await peer.ask(produce("t", b"a", b"b"), 9)
            found = found_in(await peer.ask(fetch({("t", 0): 0}), 11))
            assert values_of(found["t", 0].records) == [b"a", b"b"]
            peer.close()

    run(test, loop)


def test_nothing_happens_to_a_node_that_was_closed(tmp_path: Path) -> None:
    """A timer that fires late, or a connection that is lost then, would ask a disk that is gone."""
    happened: list[str] = []

    async def test() -> None:
        async with hosted(tmp_path) as host:
            host.server.turn(lambda: happened.append("before"))
        host.close()
        host.server.turn(lambda: happened.append("after"))

    run(test, asyncio.SelectorEventLoop)
    assert happened == ["before"]


@each_way
@pytest.mark.parametrize("size", [1, GATHERED_BYTES_MAX // 2, GATHERED_BYTES_MAX])
def test_a_small_answer_leaves_in_one_piece_whatever_it_is_made_of(
    tmp_path: Path, direct: bool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces it would wake its reader for each."""
    pieces: list[int] = []
    write = Outbox._write

    def watched(outbox: Outbox, data: bytes) -> None:
        pieces.append(len(data))
        write(outbox, data)

    async def test() -> None:
        async with hosted(tmp_path, direct=direct) as host:
            peer = await Peer.connect(host)
            await peer.create("t")
            await peer.ask(produce("t", bytes(size)), 9)
            monkeypatch.setattr(Outbox, "_write", watched)
            found = found_in(await peer.ask(fetch({("t", 0): 0}), 11))
            assert values_of(found["t", 0].records) == [bytes(size)]
            peer.close()

    run(test)
    is_whole = pieces[0] > size
    assert is_whole is (size < GATHERED_BYTES_MAX)


@each_loop
def test_a_host_that_is_dropped_leaves_the_loop_nothing_to_wait_for(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """Where warnings are errors, as in these tests, uvloop cannot close over a socket that still listens."""
    listening: list[asyncio.Server] = []

    async def test() -> None:
        async with hosted(tmp_path) as host:
            listening.extend(host._listening)
            raise ValueError("not stopped")

    with pytest.raises(ValueError, match="not stopped"):
        run(test, loop)
    assert listening
    assert not any(server.is_serving() for server in listening)


def test_without_uvloop_the_standard_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    async def which() -> str:
        return type(asyncio.get_running_loop()).__module__

    with make_runner() as runner:
        assert runner.run(which()).startswith("uvloop")
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with make_runner() as runner:
        assert runner.run(which()).startswith("asyncio")


def test_replies_leave_in_order_and_requests_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path) as host:
            peer, other = await Peer.connect(host), await Peer.connect(host)
            await peer.create("t")
            slow = peer.frame(fetch({("t", 0): 0}, max_wait_ms=60_000), 11)
            quick = peer.frame(MetadataRequest(topics=None), 9)
            await peer.send_bytes(slow + quick + peer.frame(produce("t", b"a"), 9))
            # The produce runs though the fetch before it is not answered, and so wakes it.
            first = await peer.reply()
            assert values_of(found_in(first)["t", 0].records) == [b"a"]
            assert (await peer.reply()).topics[0].name == "t"
            assert (await peer.reply()).responses[0].partition_responses[0].base_offset == 0
            peer.close()
            other.close()

    run(test)


def connection_of(host: Host, peer: Peer) -> object:
    return next(connection for connection in host.node.connections if connection.port == peer.port)


@each_loop
def test_who_never_reads_is_no_longer_read_from(tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Small answers: what waits for a reader is bounded, and all of it arrives once it reads."""
    requests = 1500

    async def test() -> None:
        async with hosted(tmp_path, {"penstock.connection.bytes.max": "131072"}) as host:
            deaf = await Peer.connect(host, small=True)
            await deaf.create("t", 100)
            frames = b"".join(deaf.frame(MetadataRequest(topics=None), 9) for _ in range(requests))
            sending = asyncio.ensure_future(deaf.send_bytes(frames))
            connection = connection_of(host, deaf)
            await until(lambda: not connection.reading, "reading stops")
            held = connection._out_bytes + connection._unsent
            assert held < 131072 + 65536
            assert host.server.buffered_bytes < MIB
            other = await Peer.connect(host)
            assert (
                await other.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
            ).api_keys
            for _ in range(requests):
                await deaf.skip()
            await sending
            await until(lambda: connection.reading, "reading goes on")
            deaf.close()
            other.close()

    run(test, loop)


@each_way
@each_loop
def test_a_huge_answer_is_streamed(tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop], direct: bool) -> None:
    async def test() -> None:
        async with hosted(tmp_path, direct=direct) as host:
            slow = await Peer.connect(host, small=True)
            await slow.create("t")
            await slow.fill("t", 24)
            request = fetch({("t", 0): 0}, max_bytes=50 * MIB, partition_bytes=50 * MIB)
            await slow.send(request, 11)
            held = 0

            async def watch() -> None:
                nonlocal held
                while True:
                    client = host.server.clients[connection_of(host, slow)]
                    held = max(held, host.server.buffered_bytes, client._transport.get_write_buffer_size())
                    await asyncio.sleep(0)

            watching = asyncio.ensure_future(watch())
            found = found_in(await slow.reply())
            watching.cancel()
            assert len(values_of(found["t", 0].records)) == 24
            assert held <= MIB, f"{held} bytes were read ahead"
            slow.close()

    run(test, loop)


def test_a_reply_whose_file_is_gone_ends_its_connection_and_no_other(tmp_path: Path) -> None:
    """It has waited for the reply before it until its segment was deleted, and leaves when another client is served."""

    async def test() -> None:
        async with hosted(tmp_path) as host:
            reader, writer = await Peer.connect(host), await Peer.connect(host)
            await writer.create("awaited")
            await writer.create("t")
            await writer.fill("t", 2)
            await reader.send(fetch({("awaited", 0): 0}, max_wait_ms=30_000), 11)
            await reader.send(fetch({("t", 0): 0}), 11)
            await until(lambda: len(connection_of(host, reader).slots) == 2, "both are asked")
            with without_segment(host, "t"):
                answer = await writer.ask(produce("awaited", b"now"), 9)
                assert answer.responses[0].partition_responses[0].error_code == 0
                assert await reader.is_closed()
            writer.close()

    run(test)


@contextmanager
def without_segment(host: Host, topic: str) -> Iterator[None]:
    partition = host.node.replicas.get(topic, 0)
    assert partition is not None
    file = partition.log.active.log
    path = Path(file.path)
    aside = path.rename(path.with_suffix(".aside"))
    host.server.disk._descriptors.forget(file)
    yield
    aside.rename(path)


@pytest.mark.slow
def test_slow_readers_share_what_answers_may_hold(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path, direct=False) as host:
            host.server._response_bytes_max = SHARED_BYTES
            peers = [await Peer.connect(host, small=True) for _ in range(6)]
            await peers[0].create("t")
            await peers[0].fill("t", 6)
            for peer in peers:
                await peer.send(fetch({("t", 0): 0}, max_bytes=20 * MIB, partition_bytes=20 * MIB), 11)
            await until(lambda: bool(host.server.starved), "somebody has to wait")
            assert host.server.buffered_bytes <= SHARED_BYTES + CHUNK_BYTES
            for answer in await asyncio.gather(*(peer.reply() for peer in peers)):
                assert len(values_of(found_in(answer)["t", 0].records)) == 6
            assert host.server.buffered_bytes == 0
            for peer in peers:
                peer.close()

    run(test)


async def a_hog_and_a_starved_one(host: Host) -> tuple[Peer, Peer]:
    """One who reads nothing holds all there is; another waits for its share."""
    host.server._response_bytes_max = 1
    hog, hungry = await Peer.connect(host, small=True), await Peer.connect(host, small=True)
    await hog.create("t")
    await hog.fill("t", 10)
    request = fetch({("t", 0): 0}, max_bytes=20 * MIB, partition_bytes=20 * MIB)
    await hog.send(request, 11)
    await until(lambda: host.server.buffered_bytes > 0, "the hog holds something")
    await hungry.send(request, 11)
    await until(lambda: bool(host.server.starved), "the other one has to wait")
    return hog, hungry


def test_who_waits_is_fed_when_a_deaf_one_goes(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path, direct=False) as host:
            hog, hungry = await a_hog_and_a_starved_one(host)
            hog.close()
            assert len(values_of(found_in(await hungry.reply())["t", 0].records)) == 10
            hungry.close()

    run(test)


@each_loop
def test_with_sendfile_slow_readers_hold_nothing(tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """What the socket does not take stays in the file: no memory to share, and nobody waits for anybody."""

    async def test() -> None:
        async with hosted(tmp_path) as host:
            host.server._response_bytes_max = 1
            deaf, slow = await Peer.connect(host, small=True), await Peer.connect(host, small=True)
            await deaf.create("t")
            await deaf.fill("t", 10)
            request = fetch({("t", 0): 0}, max_bytes=20 * MIB, partition_bytes=20 * MIB)
            await deaf.send(request, 11)
            await slow.send(request, 11)
            outboxes = [client._outbox for client in host.server.clients.values()]
            await until(lambda: all(outbox._is_waiting for outbox in outboxes), "both sockets are full")
            assert host.server.buffered_bytes == 0
            assert not host.server.starved
            assert len(values_of(found_in(await slow.reply())["t", 0].records)) == 10
            slow.close()
            deaf.close()
            await until(lambda: not host.server.clients, "both are gone")
            assert all(outbox._waiting_fd < 0 for outbox in outboxes)

    run(test, loop)


def test_connections_beyond_the_limit_are_closed_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path, {"max.connections.per.ip": "2"}) as host:
            first, second, third = [await Peer.connect(host) for _ in range(3)]
            assert await third.is_closed()
            assert host.node.metrics.connections_refused == 1
            first.close()
            await until(lambda: len(host.node.connections) == 1, "the first one is gone")
            fourth = await Peer.connect(host)
            await fourth.create("t")
            second.close()
            fourth.close()

    run(test)


@pytest.mark.slow
def test_an_idle_connection_is_closed_and_a_busy_one_is_not(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path, {"connections.max.idle.ms": "300"}) as host:
            idle, waiting = await Peer.connect(host), await Peer.connect(host)
            await waiting.create("t")
            await waiting.send(fetch({("t", 0): 0}, max_wait_ms=2500), 11)
            assert await idle.is_closed()
            assert found_in(await waiting.reply())
            waiting.close()

    run(test)


@pytest.mark.slow
@each_way
def test_who_never_reads_is_cut_off_when_its_time_is_over(tmp_path: Path, direct: bool) -> None:
    async def test() -> None:
        async with hosted(tmp_path, {"connections.max.idle.ms": "300"}, direct=direct) as host:
            deaf = await Peer.connect(host, small=True)
            await deaf.create("t")
            await deaf.fill("t", 10)
            await deaf.send(fetch({("t", 0): 0}, max_bytes=20 * MIB, partition_bytes=20 * MIB), 11)
            await until(lambda: not host.node.connections, "the deaf one is cut off")
            assert host.server.buffered_bytes == 0
            deaf.close()

    run(test)


@each_loop
def test_a_stop_with_requests_in_flight_loses_nothing(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    acknowledged: list[int] = []

    async def interrupted() -> None:
        async with hosted(tmp_path) as host:
            peer, waiting, deaf = (
                await Peer.connect(host),
                await Peer.connect(host),
                await Peer.connect(host, small=True),
            )
            await peer.create("t")
            await peer.create("big")
            await peer.fill("big", 10)
            await waiting.send(fetch({("t", 0): 0}, max_wait_ms=60_000, min_bytes=1 << 20), 11)
            await deaf.send(fetch({("big", 0): 0}, max_bytes=20 * MIB, partition_bytes=20 * MIB), 11)
            for number in range(50):
                await peer.send(produce("t", b"%d" % number), 9)
            for _ in range(20):
                reply = await peer.reply()
                acknowledged.append(reply.responses[0].partition_responses[0].base_offset)
            assert await host.stop() == 0
            assert await waiting.is_closed()
            for each in (peer, waiting, deaf):
                each.close()

    async def restarted() -> None:
        async with hosted(tmp_path) as host:
            peer = await Peer.connect(host)
            found = found_in(await peer.ask(fetch({("t", 0): 0}), 11))
            values = values_of(found["t", 0].records)
            assert values[: len(acknowledged)] == [b"%d" % number for number in range(len(acknowledged))]
            peer.close()

    run(interrupted, loop)
    run(restarted, loop)


def test_a_second_node_in_the_same_folder_or_port_says_so_in_one_line(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path / "one") as host:
            with pytest.raises(Exception, match="is in use by another process"):
                Host(BrokerSettings(node_settings({}, str(tmp_path / "one"), Ports())))
            taken = node_settings({}, str(tmp_path / "two"), Ports(host.addresses[0][1], 0))
            with pytest.raises(Exception, match=r"cannot listen on .* choose another port"):
                await serve(BrokerSettings(taken), lambda: None)

    run(test)


def test_a_node_that_failed_before_anybody_waited_for_it_ends_all_the_same(tmp_path: Path) -> None:
    """As when a disk fails while the listeners are opened."""

    async def test() -> None:
        host = Host(BrokerSettings(node_settings({}, str(tmp_path), Ports())), lambda *note: None)
        try:
            await host.start()
            host.server.turn(lambda: host.node.fail("the disk has failed"))
            await host.wait(asyncio.Event())
            assert await host.stop() == 1
        finally:
            host.close()

    run(test)


def test_words_that_nobody_takes_stop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        printing(1)(Fact("error", "disk", "the disk is full"))
        with suppress(OSError):
            full.close()


@each_loop
def test_what_is_due_now_is_done_in_the_next_round_and_leaves_the_timer_alone(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def test() -> None:
        async with hosted(tmp_path) as host:
            server, node, done = host.server, host.node, []
            timer = server._timer
            assert timer is not None
            for number in range(2):
                server.turn(lambda number=number: node.deadlines.at(node.now_ms, lambda: done.append(number)))
            assert done == []
            await asyncio.sleep(0)
            assert done == [0, 1]
            assert not timer.cancelled()

    run(test, loop)
