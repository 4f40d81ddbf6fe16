"""The socket below a link, plain or encrypted: read some bytes, send some, with a time for each."""

from __future__ import annotations

import select
import socket
import ssl
import struct
from typing import Any, Final, Protocol

from penstock.tls.contexts import client_context
from penstock.tls.settings import TlsSettings

# A time of zero would mean to wait for ever.
WAIT_SECONDS_MIN: Final = 0.001
# Longer vectors than the system takes in one call are sent in several.
SEND_PARTS_MAX: Final = 512
SEND_BYTES_MAX: Final = 1 << 20
"""What is encrypted at a time, so that a request of megabytes is not copied as a whole."""

_TIMEVAL = struct.Struct("@ll")


class Line(Protocol):
    """Either of them."""

    def read(self, count: int, seconds: float) -> bytes:
        """At most so many bytes; none at the end of the connection."""
        ...

    def send(self, parts: list[Any], seconds: float) -> int:
        """Send some of the parts; gives how many bytes of them."""
        ...

    def fileno(self) -> int: ...

    def is_stale(self) -> bool:
        """Whether the other side has closed it, where nothing is to be expected of it."""
        ...

    def close(self) -> None: ...


class PlainLine:
    """What comes in one piece, as nearly all does, is not copied."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.fileno = sock.fileno
        self.close = sock.close

    def read(self, count: int, seconds: float) -> bytes:
        self._limit(socket.SO_RCVTIMEO, seconds)
        try:
            return self._socket.recv(count, socket.MSG_WAITALL)
        except BlockingIOError:
            raise TimeoutError from None

    def send(self, parts: list[Any], seconds: float) -> int:
        self._limit(socket.SO_SNDTIMEO, seconds)
        try:
            return self._socket.sendmsg(parts[:SEND_PARTS_MAX])
        except BlockingIOError:
            raise TimeoutError from None

    def is_stale(self) -> bool:
        # Not select(): it fails on descriptors above 1023, which a program with many connections has.
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def _limit(self, option: int, seconds: float) -> None:
        """How long the system waits in one call. A socket with a time-out of Python's own would be one that never waits
        in the system, and could not be asked for all of an answer at once."""
        whole, part = divmod(max(seconds, WAIT_SECONDS_MIN), 1)
        self._socket.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL.pack(int(whole), int(part * 1e6)))


class TlsLine:
    """Records come and go as TLS cuts them."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self._socket = sock
        self.fileno = sock.fileno
        self.close = sock.close

    def read(self, count: int, seconds: float) -> bytes:
        self._socket.settimeout(max(seconds, WAIT_SECONDS_MIN))
        return self._socket.recv(count)

    def send(self, parts: list[Any], seconds: float) -> int:
        self._socket.settimeout(max(seconds, WAIT_SECONDS_MIN))
        data = parts[0] if len(parts[0]) >= SEND_BYTES_MAX or len(parts) == 1 else b"".join(parts[:SEND_PARTS_MAX])
        return self._socket.send(memoryview(data)[:SEND_BYTES_MAX])

    def is_stale(self) -> bool:
        """Bytes may be there that are none for us: a server sends tickets for later when it likes."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except ssl.SSLWantReadError:
            return False
        except OSError:
            return True
        return True


def open_line(host: str, port: int, seconds: float, tls: TlsSettings | None) -> Line:
    """Dial. What goes wrong is an OSError, or a TlsError that names the setting."""
    context = None if tls is None else client_context(tls)
    sock = socket.create_connection((host, port), seconds)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if context is None:
        sock.settimeout(None)
        return PlainLine(sock)
    try:
        return TlsLine(context.wrap_socket(sock, server_hostname=host))
    except BaseException:
        sock.close()
        raise
