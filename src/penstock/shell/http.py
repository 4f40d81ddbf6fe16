"""A tiny HTTP responder for `/metrics` and `/health/*`: a node answers these itself, because only it knows."""

from __future__ import annotations

import asyncio
from typing import cast

from penstock.shell.exposition import render
from penstock.shell.server import Server

REQUEST_BYTES_MAX = 8192
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class HttpClient(asyncio.Protocol):
    """One request per connection: that is all a scraper or a probe needs."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if b"\r\n\r\n" in self._received:
            self._answer(self._received.split(b"\r\n", 1)[0].decode("latin-1"))
        elif len(self._received) > REQUEST_BYTES_MAX:
            self._send(431, "the request is too long\n")

    def _answer(self, line: str) -> None:
        method, _, rest = line.partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if method not in ("GET", "HEAD"):
            self._send(405, "only GET is answered here\n")
        elif path == "/metrics":
            self._send(200, render(self._server.node), method == "HEAD")
        elif path == "/health/live":
            self._send(200, "live\n", method == "HEAD")
        elif path == "/health/ready":
            state = self._server.node.state
            self._send(200 if state == "running" else 503, f"{state}\n", method == "HEAD")
        else:
            self._send(404, "try /metrics, /health/live or /health/ready\n")

    def _send(self, status: int, text: str, only_head: bool = False) -> None:
        body = text.encode()
        reason = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 431: "Too Large"}.get(status, "Unavailable")
        head = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: {TEXT}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + (b"" if only_head else body))
        self._transport.close()


async def serve_http(server: Server, host: str, port: int) -> asyncio.Server:
    return await asyncio.get_running_loop().create_server(lambda: HttpClient(server), host, port)
