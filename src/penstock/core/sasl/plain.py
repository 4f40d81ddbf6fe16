"""PLAIN (RFC 4616): a name and a password as they are. Only what encrypts makes it more than a courtesy."""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from typing import Final

from penstock.core.sasl.mechanisms import AuthenticationFailed, decoded

WRONG: Final = "Authentication failed: Invalid username or password"
FOR_ANOTHER: Final = "Authentication failed: Client requested an authorization id that is different from username"
"""Kafka's words; people look for them."""
SHOWN_MAX: Final = 80
"""Characters of a name in the log."""
_NOBODY = b"\0"
"""A password that nobody can send: it is compared where there is no such user, so that both take the same time."""


class PlainServer:
    """Knows the passwords of its users."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.user: str | None = None
        self.expires_ms: int | None = None
        self.is_by_token = False

    def respond(self, token: bytes) -> bytes:
        parts = decoded(token).split("\0")
        if len(parts) != 3:
            told = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            raise AuthenticationFailed("a PLAIN token has three parts", told)
        acting_for, user, password = parts
        known = self._passwords.get(user)
        expected = _NOBODY if known is None else known.encode()
        if not compare_digest(expected, password.encode()) or not user:
            raise AuthenticationFailed(f"wrong name or password for {user[:SHOWN_MAX]!r}", WRONG)
        if acting_for not in ("", user):
            what = f"{user[:SHOWN_MAX]!r} wants to act for {acting_for[:SHOWN_MAX]!r}, which nobody may"
            raise AuthenticationFailed(what, FOR_ANOTHER)
        self.user = user
        return b""


class PlainClient:
    """Says its name and its password."""

    def __init__(self, user: str, password: str) -> None:
        self._token = f"\0{user}\0{password}".encode()
        self.is_complete = False

    def respond(self, token: bytes) -> bytes:
        self.is_complete = True
        return self._token
