"""The schema registry, if there is one: asked as the user who looks."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from penstock.api.schemas import Schemas

KNOWN_MAX: Final = 64
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Place(NamedTuple):
    """Where it answers, and a file of whom to trust there, instead of the system's."""

    url: str
    ca: str | None = None


def place_for(place: Place | None, user: str, password: str) -> Place | None:
    """With the user's own name and password, unless it has others, or they could be overheard on the way."""
    if place is None:
        return None
    parts = urlsplit(place.url if "://" in place.url else f"http://{place.url}")
    if parts.username is not None or (parts.scheme != "https" and parts.hostname not in _LOOPBACK):
        return place
    login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return place._replace(url=urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc}")))


def schemas_at(place: Place | None) -> Schemas | None:
    """What this thread knows of it."""
    return None if place is None else _schemas(place, threading.get_ident())


@lru_cache(maxsize=KNOWN_MAX)
def _schemas(place: Place, thread: int) -> Schemas:
    return Schemas(place.url, ca=place.ca)
