"""Where a client's signed tokens come from: a file that somebody keeps fresh, or a provider that takes credentials.

A provider is asked again when a token has lived most of its life; a file is read at each login.
"""

from __future__ import annotations

import re
import time
from base64 import b64encode
from typing import Any, Final, NamedTuple

from penstock.oauth.errors import OAuthError
from penstock.oauth.fetching import fetched, path_of

KEPT_MAX: Final = 64
"""Tokens that are kept, each of another source."""
FRESH_FACTOR: Final = 0.7
"""Less than what a connection waits before it says again who it is, so that it does so with a newer one."""
LIVES_S: Final = 300.0
"""How long a token is taken for good whose provider does not say."""
_TOKEN: Final = re.compile(r"[-_~+/.a-zA-Z0-9]+=*")
_FORM: Final = "application/x-www-form-urlencoded"


class TokenSource(NamedTuple):
    """By a URL, and what a provider there wants to know; a file needs nothing more."""

    url: str
    client_id: str | None = None
    client_secret: str | None = None
    scope: str | None = None

    def __repr__(self) -> str:
        return f"TokenSource({self.url!r}, {self.client_id!r})"


class Kept(NamedTuple):
    """A token, and until when it is."""

    token: str
    fresh_until_s: float
    expires_s: float


_kept: dict[TokenSource, Kept] = {}


def token_of(source: TokenSource) -> Kept:
    """A token that is good, as far as one knows."""
    found, now_s = _kept.get(source), time.time()
    if found is not None and now_s < found.fresh_until_s:
        return found
    if path_of(source.url) is not None:
        return _usable(fetched(source.url).decode(errors="replace").strip(), source.url, now_s, LIVES_S)
    found = _asked(source, now_s)
    _kept.pop(source, None)
    if len(_kept) >= KEPT_MAX:
        del _kept[next(iter(_kept))]
    _kept[source] = found
    return found


def _asked(source: TokenSource, now_s: float) -> Kept:
    # Only who asks a provider needs these.
    import json
    from urllib.parse import urlencode

    form = {"grant_type": "client_credentials"} | ({"scope": source.scope} if source.scope else {})
    shown = b64encode(f"{source.client_id}:{source.client_secret}".encode()).decode()
    headers = {"Authorization": f"Basic {shown}", "Content-Type": _FORM, "Accept": "application/json"}
    answer = fetched(source.url, urlencode(form).encode(), headers)
    try:
        said: Any = json.loads(answer)
        token = said.get("access_token") or said.get("id_token")
        lives_s = float(said.get("expires_in") or LIVES_S)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise OAuthError(f"{source.url} answers with something else than a token") from None
    return _usable(token, source.url, now_s, lives_s)


def _usable(token: object, where: str, now_s: float, lives_s: float) -> Kept:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise OAuthError(f"{where} holds no token")
    return Kept(token, now_s + lives_s * FRESH_FACTOR, now_s + lives_s)
