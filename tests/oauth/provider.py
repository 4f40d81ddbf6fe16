"""Whoever makes tokens, on loopback: `/keys` is its JWKS, and `/token` answers to client credentials."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs

from tests.kafka_peer import free_ports
from tests.oauth.minting import jwk, jwks, mint

CLIENT: Final = "a client"
SECRET: Final = "s:ecr%t"


def credentials(client: str, secret: str) -> str:
    return "Basic " + b64encode(f"{client}:{secret}".encode()).decode()


class _Server(ThreadingMixIn, TCPServer):
    """Without asking anybody what this machine is called."""

    allow_reuse_address = True
    daemon_threads = True


class Provider:
    """Its keys can be changed, and it can fail; what it was asked is kept."""

    def __init__(self, lives_s: int = 600) -> None:
        self.keys = jwks(jwk("RS256"))
        self.key_name = "one"
        self.lives_s = lives_s
        self.claims: dict[str, Any] = {}
        self.fails = False
        self.asked: list[str] = []
        self.forms: list[dict[str, list[str]]] = []
        (self._port,) = free_ports(1)
        self._server = _Server(("127.0.0.1", self._port), _handler(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def keys_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/keys"

    @property
    def token_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/token"

    def token(self, **changes: Any) -> str:
        now_s = time.time()
        usual = {"sub": "alice", "iss": "https://idp", "aud": "kafka", "iat": now_s, "exp": now_s + self.lives_s}
        return mint({**usual, **self.claims, **changes}, name=self.key_name)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked.append(self.path)
            if provider.fails:
                self._answer(503, b"not now")
            elif self.path == "/elsewhere":
                self._answer(302, b"", Location=provider.keys_url)
            else:
                self._answer(200, provider.keys)

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            provider.asked.append(self.path)
            provider.forms.append(form)
            if provider.fails:
                self._answer(503, b"not now")
            elif not self._knows(form):
                self._answer(401, b'{"error":"invalid_client"}')
            else:
                made = {"access_token": provider.token(), "token_type": "Bearer", "expires_in": provider.lives_s}
                self._answer(200, json.dumps(made).encode())

        def _knows(self, form: dict[str, list[str]]) -> bool:
            shown = self.headers.get("Authorization", "")
            return form.get("grant_type") == ["client_credentials"] and shown == credentials(CLIENT, SECRET)

        def _answer(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {
                "Content-Length": str(len(body)),
                "Content-Type": "application/json",
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    return Handler
