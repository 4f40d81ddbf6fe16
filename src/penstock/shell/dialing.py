"""Outgoing connections: the `Network` port on real sockets. Every event becomes a turn, as in `server`."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence
from ssl import SSLContext, SSLError
from typing import cast

from penstock.core.base.endpoints import ENCRYPTING
from penstock.core.base.ports import Buffer, WireEvents
from penstock.shell.outbox import Outbox
from penstock.shell.server import Server
from penstock.shell.tls_contexts import TlsContexts
from penstock.tls.settings import TlsError

_AT_ONCE = struct.pack("ii", 1, 0)

READ_BYTES_MAX = 256 * 1024


class Dialing:
    """Dials for one node, and knows every wire that is not closed yet."""

    def __init__(self, server: Server, tls: TlsContexts | None = None) -> None:
        self.server = server
        self.tls = tls
        self.calls: set[Call] = set()
        # Bytes are handed on within the event that brought them, so one buffer serves every wire.
        self.buffer = memoryview(bytearray(READ_BYTES_MAX))

    def dial(self, host: str, port: int, events: WireEvents, listener: str = "") -> Call:
        self.server.disk.has_company = True
        call = Call(self, events)
        self.calls.add(call)
        call.connect(host, port, listener)
        return call

    def context_for(self, listener: str) -> SSLContext | None:
        """How the wire is encrypted; None if it is not."""
        settings = self.server.node.settings
        if self.tls is None or not listener or settings.protocol_of(listener) not in ENCRYPTING:
            return None
        try:
            return self.tls.client(listener)
        except TlsError as failure:
            self.server.node.log("error", "network", f"nobody can be called at {listener}: {failure}", kind="tls")
            raise

    def close(self) -> None:
        """Hang up on everybody; nobody is told."""
        for call in list(self.calls):
            call.close()


class Call(asyncio.BufferedProtocol):
    """One wire: a dial, then a socket. It is among `Dialing.calls` until no handle of it is left in the loop."""

    def __init__(self, dialing: Dialing, events: WireEvents) -> None:
        self._dialing = dialing
        self._server = dialing.server
        self._events: WireEvents | None = events
        self._dial: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._outbox: Outbox

    # ---- what the core calls

    def connect(self, host: str, port: int, listener: str) -> None:
        # The only task of a connection: it ends as soon as the connection stands.
        self._dial = asyncio.get_running_loop().create_task(self._connect(host, port, listener))
        self._dial.add_done_callback(self._dialled)

    def send(self, parts: Sequence[Buffer]) -> None:
        assert self._transport is not None, "nothing may be sent before the wire is open"
        self._server.node.metrics.bytes_out += self._outbox.put(list(parts))

    def reset(self) -> None:
        if self._transport is not None:
            _forget_unsent(self._transport)
        self.close()

    def close(self) -> None:
        self._events = None
        if self._transport is not None:
            # Not `close`, which would wait for a peer that may never read again.
            self._transport.abort()
        elif self._dial is not None:
            self._dial.cancel()

    # ---- what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._outbox = Outbox(self._server, self._transport, _nothing)
        if self._events is None:
            self._transport.abort()
        else:
            self._server.turn(self._events.opened)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._dialing.buffer

    def buffer_updated(self, nbytes: int) -> None:
        events, server = self._events, self._server
        if events is None:
            return
        server.begin()
        try:
            events.received(self._dialing.buffer[:nbytes])
        except Exception as error:
            # As with clients, a mistake of ours must cost one connection, not the node.
            server.node.log("error", "network", f"an answer failed and its connection was closed: {error!r}")
            cast(asyncio.Transport, self._transport).abort()
        server.node.metrics.bytes_in += nbytes
        server.finish()

    def connection_lost(self, exc: Exception | None) -> None:
        self._outbox.release()
        # It is gone: an encrypted one has no socket any more that could be told anything.
        self._transport = None
        self._end(refused=False)

    def pause_writing(self) -> None:
        self._outbox.pause()

    def resume_writing(self) -> None:
        self._outbox.resume()

    # ---- inside

    async def _connect(self, host: str, port: int, listener: str) -> None:
        """Try one address after the other. Nobody listens only if that is so at all of them."""
        loop = asyncio.get_running_loop()
        context = self._dialing.context_for(listener)
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        failures: list[OSError] = []
        for address in dict.fromkeys(info[4][:2] for info in found):
            try:
                if context is None:
                    await loop.create_connection(lambda: self, *address)
                else:
                    await loop.create_connection(lambda: self, *address, ssl=context, server_hostname=host)
                return
            except SSLError as error:
                why = getattr(error, "verify_message", None) or error.reason or error
                self._server.node.log("warning", "network", f"no TLS with {host}:{port}: {why}", kind="tls")
                failures.append(error)
            except OSError as error:
                failures.append(error)
        raise next((error for error in failures if not isinstance(error, ConnectionRefusedError)), failures[0])

    def _dialled(self, dial: asyncio.Task[None]) -> None:
        self._dial = None
        failure = None if dial.cancelled() else dial.exception()
        if dial.cancelled() or failure is not None:
            self._end(refused=isinstance(failure, ConnectionRefusedError))

    def _end(self, refused: bool) -> None:
        self._dialing.calls.discard(self)
        events, self._events = self._events, None
        if events is not None:
            self._server.turn(lambda: events.lost(refused))


def _forget_unsent(transport: asyncio.Transport) -> None:
    """What the kernel still holds of a question that was given up must not arrive after the same one was asked again:
    the connection ends with a reset."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)


def _nothing() -> None:
    """Whoever asks waits for answers, not for room in the socket."""
