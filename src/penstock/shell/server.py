"""Sockets and time for one node: every event becomes a turn, every turn's output is sent."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import cast

from penstock.core.base.ports import LATER, FileFailure, Slice
from penstock.core.node.connection import Connection
from penstock.core.node.node import Node
from penstock.core.node.slots import Part
from penstock.shell.disk import Disk

READ_AHEAD_BYTES_MAX = 1 << 20
"""How much of a reply is held in memory per connection, whatever the reply's size."""


class Server:
    """Owns the turns of a node: `begin`, one event, `finish`, and then whatever is ready to be sent."""

    def __init__(self, response_bytes_max: int) -> None:
        self._response_bytes_max = response_bytes_max
        self.buffered_bytes = 0
        self.starved: deque[Client] = deque()
        self.node: Node
        self.disk: Disk
        self.clients: dict[Connection, Client] = {}
        self.on_state: Callable[[], None] = lambda: None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0

    def turn(self, event: Callable[[], None]) -> None:
        """One event from outside the sockets."""
        self.begin()
        event()
        self.finish()

    def begin(self) -> None:
        self.node.begin(time.time_ns() // 1_000_000, time.monotonic_ns() // 1000)

    def finish(self) -> None:
        node = self.node
        now_us = time.monotonic_ns() // 1000
        while ready := node.finish(now_us):
            for connection in ready:
                client = self.clients.get(connection)
                if client is not None:
                    client.flush()
        elapsed_ms = (now_us - node.now_us) / 1000
        if elapsed_ms > node.metrics.stall_ms_max:
            node.metrics.stall_ms_max = elapsed_ms
        deadline = node.next_deadline_ms()
        if deadline is not None and (self._timer is None or deadline < self._timer_at_ms):
            self._arm(deadline)
        self.on_state()

    def has_room(self) -> bool:
        """Whether one more reply may be read ahead of its reader."""
        return self.buffered_bytes < self._response_bytes_max

    def feed_starved(self) -> None:
        while self.starved and self.has_room():
            self.starved.popleft().pump()

    def _arm(self, deadline_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay = max(deadline_ms - time.time_ns() / 1e6, 0) / 1000
        self._timer_at_ms = deadline_ms
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.turn(self.node.tick)


class Client(asyncio.BufferedProtocol):
    """One connection's socket."""

    def __init__(self, server: Server, listener: str) -> None:
        self._server = server
        self._listener = listener
        self._transport: asyncio.Transport
        self._connection: Connection | None = None
        self._queue: deque[Part] = deque()
        self._queued_bytes = 0
        self._paused = False
        self._paused_bytes = 0
        self._reading_disk = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        host, port = (transport.get_extra_info("peername") or ("", 0))[:2]
        self._server.begin()
        self._connection = self._server.node.connect(host, port, self._listener)
        if self._connection is None:
            self._transport.abort()
        else:
            self._transport.set_write_buffer_limits(READ_AHEAD_BYTES_MAX)
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
        connection.received(nbytes)
        server.node.metrics.bytes_in += nbytes
        if not connection.reading:
            self._transport.pause_reading()
        server.finish()

    def connection_lost(self, exc: Exception | None) -> None:
        self._release_all()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._server.clients.pop(connection, None)
            self._server.turn(connection.closed)

    def pause_writing(self) -> None:
        self._paused = True
        self._paused_bytes = self._transport.get_write_buffer_size()
        self._server.buffered_bytes += self._paused_bytes

    def resume_writing(self) -> None:
        self._unpause()
        self.pump()
        self._server.feed_starved()
        self._report()

    def abort(self) -> None:
        self._transport.abort()

    def flush(self) -> None:
        """Take what the core has for us and send as much as may be sent."""
        connection = self._connection
        if connection is None:
            return
        parts = connection.take_output()
        if parts:
            self._take(parts)
        if connection.closing and not self._queue:
            self._transport.close()
        elif connection.reading and not connection.closing and not self._transport.is_reading():
            self._transport.resume_reading()

    def _take(self, parts: list[Part]) -> None:
        if not self._queue and not self._paused and Slice not in map(type, parts):
            # The common case: small replies, nobody waiting. One system call for all of them.
            self._transport.writelines(parts)  # type: ignore[arg-type]
            size = sum(map(len, parts))
        else:
            size = 0
            for part in parts:
                size += len(part)
                if type(part) is Slice:
                    self._server.disk.pin(part.file)
            self._queue += parts
            self._queued_bytes += size
            self.pump()
        self._server.node.metrics.bytes_out += size
        assert self._connection is not None
        self._connection.sent(self._queued_bytes + self._paused_bytes)

    def pump(self) -> None:
        """Write queued parts while the socket takes them; file slices are read as they go."""
        queue, server = self._queue, self._server
        while queue and not self._paused and not self._reading_disk and not self._transport.is_closing():
            part = queue[0]
            if type(part) is not Slice:
                queue.popleft()
                self._write(cast(bytes, part))
            elif not server.has_room():
                server.starved.append(self)
                return
            else:
                length = min(part.length, READ_AHEAD_BYTES_MAX)
                found = server.disk.read_pinned(part.file, part.position, length, self._cold)
                if found is LATER:
                    self._reading_disk = True
                else:
                    self._advance(part, found)
        if not queue and self._connection is not None and self._connection.closing:
            self._transport.close()

    def _cold(self, found: object) -> None:
        """A read that had to wait for the disk is done."""
        self._reading_disk = False
        if self._queue and self._connection is not None:
            part = self._queue[0]
            assert type(part) is Slice
            self._advance(part, found)
            self.pump()
            self._report()
        elif self._queue:
            self._release_all()

    def _advance(self, part: Slice, found: object) -> None:
        if isinstance(found, FileFailure) or not found:
            # The reply's size has been sent already: all that is left is to close.
            self._transport.abort()
            self._server.node.log("error", f"reading {part.file.path} for a reply failed: {found}")
            return
        data = cast(bytes, found)
        part.position += len(data)
        part.length -= len(data)
        if part.length == 0:
            self._queue.popleft()
            self._server.disk.unpin(part.file)
        self._write(data)

    def _write(self, data: bytes) -> None:
        self._queued_bytes -= len(data)
        self._transport.write(data)

    def _unpause(self) -> None:
        self._paused = False
        self._server.buffered_bytes -= self._paused_bytes
        self._paused_bytes = 0

    def _report(self) -> None:
        """Tell the connection that its reader made progress; it may go on reading requests."""
        connection = self._connection
        if connection is not None:
            left = self._queued_bytes + self._paused_bytes
            self._server.turn(lambda: connection.sent(left))
            if connection.reading and not self._transport.is_reading() and not connection.closing:
                self._transport.resume_reading()

    def _release_all(self) -> None:
        if self._paused:
            self._unpause()
        if self._reading_disk:
            # The thread still reads from the pinned file; `_cold` releases it.
            return
        for part in self._queue:
            if type(part) is Slice:
                self._server.disk.unpin(part.file)
        self._queue.clear()
