"""One socket to one broker: moves the bytes of a `PeerConnection` and keeps its deadlines.

An answer is read with two calls, its size and then all of it: the system puts the bytes where they stay, and a thread
that reads ahead does not ask for the interpreter again and again while an answer of megabytes comes in.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import __version__
from penstock.client.errors import TimedOut, Unreachable
from penstock.core.base.ports import Buffer
from penstock.core.peer.connection import FRAME_BYTES_MAX, PeerConnection, Reply
from penstock.core.peer.errors import PeerError
from penstock.core.peer.versions import PeerVersions
from penstock.core.records.build import Sealed
from penstock.core.wire.schema import Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable

# Longer vectors than the system takes in one call are sent in several.
SEND_PARTS_MAX = 512
# A time of zero would mean to wait for ever.
WAIT_SECONDS_MIN = 0.001

_SIZE = struct.Struct(">i")
_TIMEVAL = struct.Struct("@ll")

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
        connection.settimeout(None)
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
        try:
            (size,) = _SIZE.unpack(self._read(_SIZE.size))
            if not 0 <= size <= FRAME_BYTES_MAX:
                raise PeerError(f"the broker's answer cannot be read: it claims to have {size} bytes")
            return self._peer.take_frame(self._read(size))
        except TimeoutError:
            self.close()
            raise TimedOut(self.address, what, self._timeout) from None
        except (OSError, PeerError) as failure:
            self.close()
            raise Unreachable(self.address, _reason(failure)) from failure

    def _read(self, count: int) -> bytes:
        """Exactly so many bytes. What comes in one piece, as nearly all does, is not copied."""
        pieces: list[bytes] = []
        while count:
            deadline = self._peer.next_deadline()
            assert deadline is not None, "somebody waits for an answer that nobody asked for"
            self._limit(socket.SO_RCVTIMEO, deadline - time.monotonic())
            try:
                piece = self._socket.recv(count, socket.MSG_WAITALL)
            except BlockingIOError:
                raise TimeoutError from None
            if not piece:
                raise ConnectionResetError("it closed the connection")
            pieces.append(piece)
            count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _limit(self, option: int, seconds: float) -> None:
        """How long the system waits in one call. A socket with a time-out of Python's own would be one that never waits
        in the system, and could not be asked for all of an answer at once."""
        whole, part = divmod(max(seconds, WAIT_SECONDS_MIN), 1)
        self._socket.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL.pack(int(whole), int(part * 1e6)))

    def _send(self) -> None:
        parts: list[Any] = [memoryview(buffer) for part in self._peer.take_output() for buffer in _buffers(part)]
        if not parts:
            return
        try:
            self._limit(socket.SO_SNDTIMEO, self._timeout)
            while parts:
                sent = self._socket.sendmsg(parts[:SEND_PARTS_MAX])
                parts = _after(parts, sent)
        except (TimeoutError, BlockingIOError):
            self.close()
            raise TimedOut(self.address, "a request by taking it", self._timeout) from None
        except OSError as failure:
            self.close()
            raise Unreachable(self.address, _reason(failure)) from failure


def _buffers(part: Sized) -> tuple[Buffer, ...]:
    if isinstance(part, Sealed):
        return part.header, part.body
    assert isinstance(part, bytes | bytearray | memoryview), "a client sends bytes, not slices of files"
    return (part,)


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
