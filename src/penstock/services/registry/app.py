"""The HTTP side, as an ASGI application: a request comes in, is let in or not, goes to its handler or to the leader."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final

from penstock.services.registry.access import Access
from penstock.services.registry.asked import Asked, Nothing, Plain, Route, asked
from penstock.services.registry.errors import RestError, forwarding_failed, timed_out, too_large
from penstock.services.registry.forwarding import FORWARDED, NOT_LEADER, OFFSET, Forwarded, NothingDone, forward
from penstock.services.registry.registering import find_registered, register
from penstock.services.registry.registry import FORWARDED_FOLD_SECONDS_MAX, Registry
from penstock.services.registry.routes import route_of
from penstock.services.registry.submitted import BODY_BYTES_MAX

JSON_TYPE: Final = b"application/vnd.schemaregistry.v1+json"
JSON_NAMES: Final = ("application/json", "application/vnd.schemaregistry+json")
PLAIN_TYPE: Final = b"text/plain; charset=utf-8"
REALM: Final = b'Basic realm="SchemaRegistry"'
_TAKEN: Final = ("application/vnd.schemaregistry", "application/json", "application/octet-stream", "text/plain")

PAUSES: Final = (0.2, 1.0, 2.0, 4.0, 8.0)
"""Seconds in which another leader may turn up, before the one that does not answer is asked again."""

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class App:
    """What uvicorn calls for each request."""

    def __init__(self, registry: Registry, access: Access, context: ssl.SSLContext | None = None) -> None:
        self._registry = registry
        self._access = access
        self._context = context

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers: list[tuple[bytes, bytes]] = []
        request_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            request = asked(scope["method"], scope["raw_path"], scope["query_string"])
            request.headers = request_headers
            request.host = (scope.get("client") or ("",))[0]
            route = route_of(request)
            request.body = await _body(request, receive)
            await self._access.admit(request, route)
            status, body, kind = await self._answer(request, route)
        except RestError as failure:
            status, body, kind = failure.status, _json(failure.body), JSON_TYPE
            if failure.status == 401:
                headers.append((b"www-authenticate", REALM))
        except Exception as failure:
            error = self._registry.known_error(failure)
            status, body, kind = error.status, _json(error.body), JSON_TYPE
        kind = _accepted(request_headers, kind)
        headers += [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        headers.append((OFFSET.encode(), str(self._registry.last_offset).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, request: Asked, route: Route) -> tuple[int, bytes, bytes]:
        if route.changes:
            forwarded = await self._forwarded(request, route)
            if forwarded is not None:
                return forwarded.status, forwarded.body, JSON_TYPE
        answer = await route.handler(self._registry, request)
        if isinstance(answer, Nothing):
            return 204, b"", JSON_TYPE
        if isinstance(answer, Plain):
            return 200, answer.encode(), PLAIN_TYPE
        return 200, _json(answer), JSON_TYPE

    async def _forwarded(self, request: Asked, route: Route) -> Forwarded | None:
        """What the leader says; None where that is we."""
        registry = self._registry
        if route.handler is register and (known := await find_registered(registry, request)) is not None:
            return Forwarded(200, _json(known), -1)
        answer = await self._asked_leader(request)
        if answer is None:
            return None
        if answer.offset >= 0 and answer.status < 400:
            try:
                await registry.folded(answer.offset, FORWARDED_FOLD_SECONDS_MAX)
            except RestError:
                raise timed_out("the change is made, and this registry has not read it yet") from None
        return answer

    async def _asked_leader(self, request: Asked) -> Forwarded | None:
        """What the leader says, whoever that is by now; None where it is we."""
        registry = self._registry
        for pause in PAUSES:
            leader = await registry.known_leader()
            if registry.is_leader:
                return None
            if request.headers.get(FORWARDED) == "false":
                raise NOT_LEADER
            try:
                return await asyncio.to_thread(forward, leader, request, self._context)
            except NothingDone:
                # Another one will lead when the group has noticed.
                await registry.other_leader(leader, pause)
        raise forwarding_failed("Error while forwarding the request: its leader does not answer")


def _accepted(headers: dict[str, str], kind: bytes) -> bytes:
    """JSON by the name that the client asked for first."""
    first = headers.get("accept", "").partition(",")[0].partition(";")[0].strip()
    return first.encode("latin-1") if kind == JSON_TYPE and first in JSON_NAMES else kind


async def _body(request: Asked, receive: Receive) -> bytes:
    if request.method in ("GET", "DELETE"):
        return b""
    kind = request.headers.get("content-type", "")
    if kind and not kind.startswith(_TAKEN):
        raise RestError(415, "HTTP 415 Unsupported Media Type")
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RestError(400, "the request ended in its midst")
        part = message.get("body", b"")
        size += len(part)
        if size > BODY_BYTES_MAX:
            raise too_large()
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def _json(answer: Any) -> bytes:
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
