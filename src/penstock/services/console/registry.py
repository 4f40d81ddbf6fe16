"""The schema registry, if there is one: asked as the user who looks."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from penstock.api.schemas import Schemas

KNOWN_MAX: Final = 64
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def address_for(url: str | None, user: str, password: str) -> str | None:
    """With the user's own name and password, unless it has others, or they could be overheard on the way."""
    if url is None:
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.username is not None or (parts.scheme != "https" and parts.hostname not in _LOOPBACK):
        return url
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))


def schemas_at(url: str | None) -> Schemas | None:
    """What this thread knows of it."""
    return None if url is None else _schemas(url, threading.get_ident())


@lru_cache(maxsize=KNOWN_MAX)
def _schemas(url: str, thread: int) -> Schemas:
    return Schemas(url)
