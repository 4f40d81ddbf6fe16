"""One socket to one broker: moves the bytes of a `PeerConnection` and keeps its deadlines."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import __version__
from penstock.client.errors import TimedOut, Unreachable
from penstock.core.peer.connection import PeerConnection, Reply
from penstock.core.peer.errors import PeerError
from penstock.core.peer.versions import PeerVersions
from penstock.core.wire.schema import Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable

# Longer vectors than the system takes in one call are sent in several.
SEND_PARTS_MAX = 512

R = TypeVar("R", bound=Response)


class Link:
    """A connection that has been greeted. Any failure closes it: whoever sees `Unreachable` makes a new one."""

    def __init__(self, host: str, port: int, client_id: str, timeout: float) -> None:
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._timeout = timeout
        self._peer = PeerConnection(client_id, __version__)
        self._replies: dict[int, Response] = {}
        self._socket = self._connect(host, port)
        deadline = time.monotonic() + timeout
        self._peer.greet(deadline)
        self._exchange("ApiVersions", lambda: self._peer.is_ready)

    @property
    def versions(self) -> PeerVersions:
        assert self._peer.versions is not None, "a link is greeted when it is made"
        return self._peer.versions

    @property
    def is_open(self) -> bool:
        return self._socket.fileno() >= 0

    @property
    def is_stale(self) -> bool:
        """Whether the broker has closed the connection while it was idle: then nothing asked on it was lost."""
        if self._peer.in_flight:
            return False
        # Not select(): it fails on descriptors above 1023, which a program with many connections has.
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        readable = poll.poll(0)
        return bool(readable)

    def call(self, request: Request, response: type[R], timeout: float, newest_version: int | None = None) -> R:
        """Ask and wait for the answer."""
        return self.collect(self.post(request, response, timeout, newest_version), response)

    def post(
        self, request: Request, response: type[Response], timeout: float, newest_version: int | None = None
    ) -> int:
        """Ask without waiting; `collect` gets the answer."""
        self._timeout = timeout
        number = self._peer.ask(request, response, time.monotonic() + timeout, newest_version=newest_version)
        self._send()
        return number

    def tell(self, request: Request, newest_version: int | None = None) -> None:
        """Send what is never answered."""
        self._peer.tell(request, newest_version=newest_version)
        self._send()

    def collect(self, number: int, response: type[R]) -> R:
        """The answer to what `post` gave this number."""
        self._exchange(response.__name__.removesuffix("Response"), lambda: number in self._replies)
        reply = self._replies.pop(number)
        assert isinstance(reply, response)
        return reply

    def close(self) -> None:
        self._socket.close()

    def _connect(self, host: str, port: int) -> socket.socket:
        try:
            connection = socket.create_connection((host, port), self._timeout)
        except OSError as failure:
            raise Unreachable(self.address, _reason(failure)) from failure
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _exchange(self, what: str, is_done: Callable[[], bool]) -> None:
        self._send()
        while not is_done():
            self._keep(self._receive(what))
            # A greeting that was refused is followed by another one.
            self._send()

    def _keep(self, replies: list[Reply]) -> None:
        for reply in replies:
            self._replies[reply.correlation_id] = reply.message

    def _receive(self, what: str) -> list[Reply]:
        deadline = self._peer.next_deadline()
        assert deadline is not None, "somebody waits for an answer that nobody asked for"
        left = deadline - time.monotonic()
        try:
            self._socket.settimeout(max(left, 0.001))
            count = self._socket.recv_into(self._peer.get_buffer())
            if count == 0:
                raise ConnectionResetError("it closed the connection")
            return self._peer.received(count)
        except TimeoutError:
            self.close()
            raise TimedOut(self.address, what, self._timeout) from None
        except (OSError, PeerError) as failure:
            self.close()
            raise Unreachable(self.address, _reason(failure)) from failure

    def _send(self) -> None:
        parts: list[Any] = [memoryview(_as_buffer(part)) for part in self._peer.take_output()]
        if not parts:
            return
        try:
            self._socket.settimeout(self._timeout)
            while parts:
                sent = self._socket.sendmsg(parts[:SEND_PARTS_MAX])
                parts = _after(parts, sent)
        except TimeoutError:
            self.close()
            raise TimedOut(self.address, "a request by taking it", self._timeout) from None
        except OSError as failure:
            self.close()
            raise Unreachable(self.address, _reason(failure)) from failure


def _as_buffer(part: Sized) -> bytes | bytearray | memoryview:
    assert isinstance(part, bytes | bytearray | memoryview), "a client sends bytes, not slices of files"
    return part


def _after(parts: list[Any], sent: int) -> list[Any]:
    """What is left of the parts when so many of their bytes are gone."""
    for index, part in enumerate(parts):
        if sent < len(part):
            return [part[sent:], *parts[index + 1 :]]
        sent -= len(part)
    return []


def _reason(failure: Exception) -> str:
    if isinstance(failure, TimeoutError):
        return "it does not answer"
    if isinstance(failure, OSError) and failure.strerror:
        return failure.strerror.lower()
    return str(failure)
