"""One socket to one broker: moves the bytes of a `PeerConnection` and keeps its deadlines.

An answer is read with two calls, its size and then all of it: the system puts the bytes where they stay, and a thread
that reads ahead does not ask for the interpreter again and again while an answer of megabytes comes in.
"""

from __future__ import annotations

import ssl
import struct
import time
from collections.abc import Sized
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock import __version__
from penstock.client.errors import GREETING, ClientError, TimedOut, Unreachable
from penstock.client.lines import Line, open_line
from penstock.client.security import OPEN, Entropy, Security
from penstock.core.base.ports import Buffer
from penstock.core.peer.connection import FRAME_BYTES_MAX, PeerConnection, Reply
from penstock.core.peer.errors import PeerError, UnsupportedByPeer
from penstock.core.peer.login import Login, LoginRefused
from penstock.core.peer.versions import PeerVersions
from penstock.core.records.build import Sealed
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request, Response
from penstock.tls.settings import TlsError

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZE = struct.Struct(">i")
RENEWED_AFTER: Final = 0.8
"""Of a session that ends: then we say again who we are."""

R = TypeVar("R", bound=Response)


class Link:
    """A connection that has been greeted. Any failure closes it: whoever sees `Unreachable` makes a new one."""

    def __init__(self, host: str, port: int, client_id: str, timeout: float, security: Security = OPEN) -> None:
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._timeout = timeout
        self._peer = PeerConnection(client_id, __version__)
        self._replies: dict[int, Response] = {}
        self._security = security
        self._renewed_at = inf
        self._line = self._connect(host, port)
        deadline = time.monotonic() + timeout
        self._peer.greet(deadline)
        self._exchange(GREETING, lambda: self._peer.is_ready)
        self._log_in()

    @property
    def versions(self) -> PeerVersions:
        assert self._peer.versions is not None, "a link is greeted when it is made"
        return self._peer.versions

    @property
    def is_open(self) -> bool:
        return self._line.fileno() >= 0

    @property
    def is_stale(self) -> bool:
        """Whether the broker has closed the connection while it was idle: then nothing asked on it was lost."""
        return not self._peer.in_flight and self._line.is_stale()

    def call(self, request: Request, response: type[R], timeout: float, newest_version: int | None = None) -> R:
        """Ask and wait for the answer."""
        return self.collect(self.post(request, response, timeout, newest_version), response)

    def post(
        self, request: Request, response: type[Response], timeout: float, newest_version: int | None = None
    ) -> int:
        """Ask without waiting; `collect` gets the answer."""
        self._timeout = timeout
        if time.monotonic() >= self._renewed_at and not self._peer.in_flight:
            self._log_in()
        return self._ask(request, response, timeout, newest_version)

    def _ask(
        self, request: Request, response: type[Response], timeout: float, newest_version: int | None = None
    ) -> int:
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
        self._line.close()

    def _connect(self, host: str, port: int) -> Line:
        try:
            return open_line(host, port, self._timeout, self._security.tls)
        except TlsError as failure:
            raise ClientError(str(failure)) from None
        except ssl.SSLCertVerificationError as failure:
            raise ClientError(
                f"the certificate of {self.address} is not to be trusted: {failure.verify_message}",
                hint="name its authority with ssl.truststore.location (and ssl.truststore.type=PEM)",
            ) from None
        except OSError as failure:
            raise Unreachable(self.address, _reason(failure)) from failure

    def _log_in(self) -> None:
        """Say who we are, where that is asked for."""
        identity = self._security.who()
        if identity is None:
            return
        login = Login(identity, Entropy())
        request: Request | None = login.begin()
        try:
            while request is not None:
                kind = response_class(type(request).KEY)
                answer = self.collect(self._ask(request, kind, self._timeout), kind)
                lifetime_ms = getattr(answer, "session_lifetime_ms", 0)
                self._renewed_at = time.monotonic() + RENEWED_AFTER * lifetime_ms / 1000 if lifetime_ms else inf
                request = login.next(answer)
        except LoginRefused as refusal:
            self.close()
            raise ClientError(
                f"{self.address} does not let us in: {refusal}",
                hint="check sasl.mechanism, the name and the password, or the token",
            ) from None
        except UnsupportedByPeer:
            self.close()
            raise ClientError(
                f"{self.address} asks nobody who it is", hint="leave SASL_ out of security.protocol"
            ) from None

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
            piece = self._line.read(count, deadline - time.monotonic())
            if not piece:
                raise ConnectionResetError("it closed the connection")
            pieces.append(piece)
            count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _send(self) -> None:
        parts: list[Any] = [memoryview(buffer) for part in self._peer.take_output() for buffer in _buffers(part)]
        if not parts:
            return
        try:
            while parts:
                parts = _after(parts, self._line.send(parts, self._timeout))
        except TimeoutError:
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
