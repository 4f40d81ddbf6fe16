"""What stands before everything: whom the browser thinks it talks to, how much it may send, and what pages may do.

Without the check of Host, a page of anybody could have its own name resolve to this machine and read what we answer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not none: browsers would then hide where a form comes from.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """An ASGI application before another one."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], is_encrypted: bool) -> None:
        self._app = app
        self._hosts = frozenset(host.lower().strip("[]") for host in hosts)
        self._headers = HEADERS | ({"strict-transport-security": "max-age=31536000"} if is_encrypted else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._dress(scope, message)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await PlainTextResponse(refusal + "\n", 403)(scope, receive, dressed)
            return
        await self._app(scope, receive, dressed)

    def _dress(self, scope: Scope, message: Message) -> None:
        headers = MutableHeaders(raw=message.setdefault("headers", []))
        for name, value in self._headers.items():
            headers[name] = value
        is_static = scope["path"].startswith("/static/") and message["status"] == 200
        headers["cache-control"] = "public, max-age=31536000, immutable" if is_static else "no-store"

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        if _name(headers.get("host", "")) not in self._hosts:
            return "this console has another name: give the one in the address with --advertised-host"
        origin = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD") and origin is not None:
            if urlsplit(origin).netloc != headers.get("host"):
                return "this form came from elsewhere"
        elif headers.get("sec-fetch-site") == "cross-site" and scope["method"] not in ("GET", "HEAD"):
            return "this form came from elsewhere"
        return None


def _name(host: str) -> str:
    """Without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
