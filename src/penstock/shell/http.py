"""A tiny HTTP responder for `/metrics` and `/health/*`: a node answers these itself, because only it knows."""

from __future__ import annotations

import asyncio
import json
import ssl
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from hmac import compare_digest
from typing import Final, NamedTuple, cast

from penstock.core.base.ports import Steps
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.health_check import health
from penstock.shell.exposition.rendering import Exposition
from penstock.shell.server import Server

REQUEST_BYTES_MAX: Final = 8192
CLIENTS_MAX: Final = 64
"""Connections of readers; whoever comes beyond that is told 503."""
CONNECTIONS_MAX: Final = 256
"""And beyond this it is hung up on."""
ASKING_S_MAX: Final = 5.0
READING_S_MAX: Final = 30.0
"""For how long one may take to ask, and to take its answer. Then its connection is cut."""
RENDERING_MAX: Final = 4
"""Answers that are written at one time: each costs the node some of every turn."""
HELD_BYTES_MAX: Final = 64 << 20
"""And what is written, and not taken yet."""
REASONS: Final = {
    200: "OK",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
JSON: Final = "application/json"
METRICS: Final = {"/metrics": False, "/metrics/full": True}
"""Whether there is a line for each partition."""


class HttpRequest(NamedTuple):
    """What somebody asks."""

    method: str
    path: str
    headers: dict[str, str]

    @property
    def is_head(self) -> bool:
        return self.method == "HEAD"

    @property
    def takes_open_metrics(self) -> bool:
        return "application/openmetrics-text" in self.headers.get("accept", "")


class HttpFront:
    """What all readers of one node share."""

    def __init__(self, server: Server, exposition: Exposition) -> None:
        self.server = server
        self.exposition = exposition
        self.clients: set[HttpClient] = set()
        self.rendering = 0
        self.held_bytes = 0
        """Of answers that are being sent."""

    def admits(self, request: HttpRequest) -> bool:
        """Whether somebody has said who it is, where that is asked for. Whether a node lives anybody may know."""
        settings = self.server.node.settings
        user = settings["penstock.metrics.user"]
        if not user or request.path == "/health/live":
            return True
        kind, _, told = request.headers.get("authorization", "").partition(" ")
        try:
            given = b64decode(told, validate=True)
        except (NotBase64, ValueError):
            return False
        return kind.lower() == "basic" and compare_digest(given, _expected(settings, user))

    def render(self, *, is_full: bool, is_open: bool) -> Steps[list[bytes]]:
        self.rendering += 1
        try:
            return (yield from self.exposition.render(is_full=is_full, is_open=is_open))
        finally:
            self.rendering -= 1


class HttpClient(asyncio.Protocol):
    """One request per connection: that is all a scraper or a probe needs."""

    def __init__(self, front: HttpFront) -> None:
        self._front = front
        self._received = b""
        self._is_answered = False
        self._held_bytes = 0
        self._transport: asyncio.Transport
        self._patience: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._patience = asyncio.get_running_loop().call_later(ASKING_S_MAX, self._transport.abort)
        self._front.clients.add(self)
        if len(self._front.clients) > CONNECTIONS_MAX:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()
        self._front.clients.discard(self)
        self._front.held_bytes -= self._held_bytes

    def data_received(self, data: bytes) -> None:
        if self._is_answered:
            return
        self._received += data
        if b"\r\n\r\n" in self._received:
            self._answer(_read(self._received))
        elif len(self._received) > REQUEST_BYTES_MAX:
            self._send(431, b"the request is too long\n")

    def _answer(self, request: HttpRequest) -> None:
        self._is_answered = True
        if len(self._front.clients) > CLIENTS_MAX:
            self._send(503, b"too many readers at one time\n")
        elif request.method not in ("GET", "HEAD"):
            self._send(405, b"only GET is answered here\n")
        elif not self._front.admits(request):
            self._send(401, b"name the user and the password of penstock.metrics.user\n")
        elif request.path in METRICS:
            self._front.server.turn(lambda: self._render(request))
        elif request.path == "/health/live":
            self._send(200, b"live\n", request.is_head)
        elif request.path == "/health/ready":
            self._say_health(request.is_head)
        else:
            self._send(404, b"try /metrics, /metrics/full, /health/live or /health/ready\n")

    def _say_health(self, only_head: bool) -> None:
        found = health(self._front.server.node)
        text = json.dumps(found, indent=2) + "\n"
        self._send(200 if found["ready"] else 503, text.encode(), only_head, JSON)

    def _render(self, request: HttpRequest) -> None:
        front, is_open = self._front, request.takes_open_metrics
        if front.rendering >= RENDERING_MAX or front.held_bytes >= HELD_BYTES_MAX:
            self._send(503, b"too many readers at one time\n")
            return

        def rendered(body: list[bytes] | Exception) -> None:
            if isinstance(body, Exception):
                front.server.node.log("error", "network", f"the metrics could not be written: {body!r}")
                body = []
            self._send_pieces(200 if body else 500, body, request.is_head, OPEN_METRICS if is_open else TEXT)

        front.server.node.tasks.run(front.render(is_full=METRICS[request.path], is_open=is_open), rendered)

    def _send(self, status: int, body: bytes, only_head: bool = False, kind: str = TEXT) -> None:
        self._send_pieces(status, [body], only_head, kind)

    def _send_pieces(self, status: int, body: list[bytes], only_head: bool, kind: str) -> None:
        """A reader that does not take its answer is not waited for, or a few of them could fill the memory."""
        self._is_answered = True
        if self._transport.is_closing():
            return
        self._patience.cancel()
        self._patience = asyncio.get_running_loop().call_later(READING_S_MAX, self._transport.abort)
        who = 'WWW-Authenticate: Basic realm="penstock"\r\n' if status == 401 else ""
        head = (
            f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}\r\n{who}"
            f"Content-Length: {sum(map(len, body))}\r\nConnection: close\r\n\r\n"
        )
        pieces = [head.encode(), *(() if only_head else body)]
        self._held_bytes = sum(map(len, pieces))
        self._front.held_bytes += self._held_bytes
        self._transport.writelines(pieces)
        self._transport.close()


def _read(received: bytes) -> HttpRequest:
    """The first line and the headers; what follows them is nobody's."""
    first, *lines = received.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return HttpRequest(method, rest.partition(" ")[0].partition("?")[0], headers)


def _expected(settings: BrokerSettings, user: str) -> bytes:
    password = settings["penstock.metrics.password"]
    return f"{user}:{password.reveal() if password is not None else ''}".encode()


async def serve_http(
    server: Server,
    exposition: Exposition,
    host: str,
    port: int,
    context: Callable[[], ssl.SSLContext] | None = None,
) -> asyncio.Server:
    """`context` is asked at each handshake, so that certificates that were renewed are shown."""
    front = HttpFront(server, exposition)
    loop = asyncio.get_running_loop()
    if context is None:
        return await loop.create_server(lambda: HttpClient(front), host, port)
    first = context()

    def renew(connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext) -> None:
        connection.context = context()

    first.sni_callback = renew
    return await loop.create_server(
        lambda: HttpClient(front), host, port, ssl=first, ssl_handshake_timeout=ASKING_S_MAX
    )
