"""Sockets and time for one node: every event becomes a turn, every turn's output is sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import cast

from penstock.core.node.node import Node
from penstock.core.node.serving.connection import Connection
from penstock.shell import clock
from penstock.shell.disk import Disk
from penstock.shell.exposition.busiest import CONNECTIONS_MAX, Traffic, socket_bytes
from penstock.shell.outbox import HAS_SENDFILE, Outbox
from penstock.tls.names import distinguished_name

STARVED_RETRY_S = 0.05


class Server:
    """Owns the turns of a node: `begin`, one event, `finish`, and then whatever is ready to be sent."""

    def __init__(self, response_bytes_max: int, direct: bool = HAS_SENDFILE) -> None:
        self._response_bytes_max = response_bytes_max
        self.direct = direct
        self.buffered_bytes = 0
        self.starved: deque[Outbox] = deque()
        self.node: Node
        self.disk: Disk
        self.clients: dict[Connection, Client] = {}
        self.on_state: Callable[[], None] = lambda: None
        self._state = "starting"
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0
        self._is_ticking_soon = False
        self._is_closed = False

    def close(self) -> None:
        """No turn begins from now on: what a late timer or a lost connection asks for has no disk any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def turn(self, event: Callable[[], None]) -> None:
        """One event from outside the sockets."""
        if self._is_closed:
            return
        self.begin()
        event()
        self.finish()

    def begin(self) -> None:
        self.node.begin(clock.wall_ms(), clock.steady_us())

    def finish(self) -> None:
        node = self.node
        now_us = clock.steady_us()
        while True:
            for connection in node.finish(now_us):
                client = self.clients.get(connection)
                if client is not None:
                    client.flush()
            if not node.is_unfinished:
                break
        node.metrics.took(now_us - node.now_us)
        deadline = node.next_deadline_ms()
        if deadline is not None:
            if deadline <= node.now_ms:
                self._tick_soon()
            elif self._timer is None or deadline < self._timer_at_ms:
                self._arm(deadline)
        if node.state != self._state:
            self._state = node.state
            self.on_state()

    def traffic(self) -> list[Traffic]:
        """What open connections have carried."""
        some = islice(self.clients.items(), CONNECTIONS_MAX)
        return [Traffic(connection.context.client_id or "", *client.carried()) for connection, client in some]

    def has_room(self) -> bool:
        """Whether one more reply may be read ahead of its reader."""
        return self.buffered_bytes < self._response_bytes_max

    def starve(self, outbox: Outbox) -> None:
        """Let an answer wait for room. Meanwhile its own socket may drain, and then it needs no room at all."""
        self.starved.append(outbox)
        if len(self.starved) == 1:
            asyncio.get_running_loop().call_later(STARVED_RETRY_S, self._retry_starved)

    def feed_starved(self) -> None:
        while self.starved and self.has_room():
            self.starved.popleft().pump()

    def _retry_starved(self) -> None:
        waiting, self.starved = self.starved, deque()
        for outbox in waiting:
            outbox.pump()

    def _arm(self, deadline_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay = max(deadline_ms - clock.wall_ms(), 0) / 1000
        self._timer_at_ms = deadline_ms
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.turn(self.node.tick)

    def _tick_soon(self) -> None:
        """What is due already is done in the next round of the loop; the timer is for later, and stays."""
        if not self._is_ticking_soon:
            self._is_ticking_soon = True
            asyncio.get_running_loop().call_soon(self._tick_now)

    def _tick_now(self) -> None:
        self._is_ticking_soon = False
        self.turn(self.node.tick)


class Client(asyncio.BufferedProtocol):
    """One connection's socket."""

    def __init__(self, server: Server, listener: str) -> None:
        self._server = server
        self._listener = listener
        self._transport: asyncio.Transport
        self._connection: Connection | None = None
        self._outbox: Outbox

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._outbox = Outbox(self._server, self._transport, self._report)
        host, port = (transport.get_extra_info("peername") or ("", 0))[:2]
        self._server.begin()
        shown = transport.get_extra_info("peercert")
        certified = distinguished_name(shown) if shown else None
        self._connection = self._server.node.connect(host, port, self._listener, certified)
        if self._connection is None:
            self._transport.abort()
        else:
            self._server.clients[self._connection] = self
        self._server.finish()

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._connection is None:
            return memoryview(bytearray(1024))
        return self._connection.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        connection, server = self._connection, self._server
        if connection is None or connection.closing:
            return
        server.begin()
        try:
            connection.received(nbytes)
        except Exception as error:
            # A mistake of ours must cost one connection, not the node. The simulator lets it through, and fails.
            server.node.log("error", "network", f"a request failed and its connection was closed: {error!r}")
            connection.abandon()
        server.node.metrics.bytes_in += nbytes
        if not connection.reading:
            self._transport.pause_reading()
        server.finish()

    def connection_lost(self, exc: Exception | None) -> None:
        self._outbox.release()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._server.clients.pop(connection, None)
            self._server.turn(connection.closed)

    def pause_writing(self) -> None:
        self._outbox.pause()

    def resume_writing(self) -> None:
        self._outbox.resume()
        self._report()

    def abort(self) -> None:
        self._transport.abort()

    def carried(self) -> tuple[int, int]:
        """Bytes received and sent."""
        found = self._transport.get_extra_info("socket")
        return socket_bytes(-1 if found is None else found.fileno())

    def flush(self) -> None:
        """Take what the core has for us and send as much as may be sent."""
        connection = self._connection
        if connection is None:
            return
        parts = connection.take_output()
        if parts:
            self._server.node.metrics.bytes_out += self._outbox.put(parts)
            connection.sent(self._outbox.unsent_bytes)
        self._follow(connection)

    def _report(self) -> None:
        """Tell the connection that its reader made progress; it may go on reading requests."""
        connection = self._connection
        if connection is not None:
            left = self._outbox.unsent_bytes
            self._server.turn(lambda: connection.sent(left))
            self._follow(connection)

    def _follow(self, connection: Connection) -> None:
        """Close, or read on, as the connection now wants."""
        if connection.closing:
            if not self._outbox:
                self._transport.close()
            elif connection.abandoned:
                self._transport.abort()
        elif connection.reading and not self._transport.is_reading():
            self._transport.resume_reading()
