"""OAUTHBEARER (RFC 7628) as Kafka speaks it: a client shows a token that somebody else has made for it.

A token that is refused is answered with a little JSON, on which the client says one byte; only then it has failed. So
say the RFC, and Kafka's clients, which show the JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from penstock.core.sasl.jwt import Verified
from penstock.core.sasl.mechanisms import AuthenticationFailed, decoded

SEPARATOR: Final = "\x01"
GIVES_UP: Final = SEPARATOR.encode()
INVALID: Final = '{"status":"invalid_token"}'
"""Kafka's words; people look for them."""
_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_FIRST: Final = re.compile(rf"n,(?:a=({_NAME}))?,\x01((?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01")
_BEARER: Final = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([-_~+/.a-zA-Z0-9]+=*)")


class OAuthBearerServer:
    """Has a token checked, and knows then who it is, and for how long."""

    def __init__(self, check: Callable[[str], Verified]) -> None:
        self._check = check
        self._refused: AuthenticationFailed | None = None
        self.user: str | None = None
        self.expires_ms: int | None = None
        self.is_by_token = False

    def respond(self, token: bytes) -> bytes:
        if self._refused is not None and token == GIVES_UP:
            raise AuthenticationFailed(str(self._refused), INVALID)
        acting_for, shown = _first_message(decoded(token))
        try:
            found = self._check(shown)
        except AuthenticationFailed as failure:
            self._refused = failure
            return INVALID.encode()
        if acting_for not in ("", found.user):
            told = f"Authentication failed: Client requested an authorization id ({acting_for}) that is different from "
            raise AuthenticationFailed(
                "it wants to act for another", f"{told}the token's principal name ({found.user})"
            )
        self.user, self.expires_ms = found
        return b""


class OAuthBearerClient:
    """Shows its token, and hears nothing more if that is good."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._has_begun = False
        self.is_complete = False

    def respond(self, token: bytes) -> bytes:
        if self._has_begun:
            self.is_complete = not token
            return GIVES_UP if token else b""
        self._has_begun = True
        return f"n,,{SEPARATOR}auth=Bearer {self._token}{SEPARATOR}{SEPARATOR}".encode()


def _first_message(text: str) -> tuple[str, str]:
    """For whom somebody wants to act, and the token. What he says besides is not looked at."""
    match = _FIRST.fullmatch(text)
    if match is None:
        raise AuthenticationFailed("a first message that cannot be read")
    acting_for, pairs = match.groups()
    said = dict(pair.split("=", 1) for pair in pairs.split(SEPARATOR)[:-1])
    bearer = _BEARER.fullmatch(said.get("auth", ""))
    if bearer is None:
        raise AuthenticationFailed("a first message without a bearer's token")
    return (acting_for or "").replace("=2C", ",").replace("=3D", "="), bearer[1]
