"""Who is there: sessions that end after a while, and all when the console does. Nothing of them is on any disk."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock.services.console.cluster import Cluster
from penstock.services.console.registry import Place
from penstock.services.console.sampling import Sampler

SESSIONS_MAX: Final = 1_000
IDLE_SECONDS_MAX: Final = 30 * 60.0
AGE_SECONDS_MAX: Final = 12 * 3600.0
TOKEN_BYTES: Final = 32


@dataclass(slots=True, eq=False)
class Session:
    """One browser of one user; an empty name is everybody's, where the cluster does not ask who it is."""

    id: str
    user: str
    is_read_only: bool
    cluster: Cluster
    sampler: Sampler
    began: float
    seen: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))
    said: str | None = None
    """What the next page tells of what was just done."""
    registry: Place | None = None
    """Where schemas are, with the name and the password of the user where he has one."""
    tails: int = 0
    """How many of its pages show live records."""
    is_over: bool = False


class Sessions:
    """All of them, the one that was seen last at the end."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._all: OrderedDict[str, Session] = OrderedDict()
        self.on_end: Callable[[Session], None] = lambda _: None

    def begin(self, user: str, is_read_only: bool, cluster: Cluster, sampler: Sampler) -> Session:
        now = self._now()
        session = Session(secrets.token_urlsafe(TOKEN_BYTES), user, is_read_only, cluster, sampler, now, now)
        self._all[session.id] = session
        while len(self._all) > SESSIONS_MAX:
            self.end(next(iter(self._all.values())))
        return session

    def find(self, id: str) -> Session | None:
        session = self._all.get(id)
        if session is None:
            return None
        if self._is_over(session):
            self.end(session)
            return None
        session.seen = self._now()
        self._all.move_to_end(id)
        return session

    def end(self, session: Session) -> None:
        session.is_over = True
        if self._all.pop(session.id, None) is not None:
            self.on_end(session)

    def sweep(self) -> None:
        for session in [each for each in self._all.values() if self._is_over(each)]:
            self.end(session)

    def all(self) -> list[Session]:
        return list(self._all.values())

    def _is_over(self, session: Session) -> bool:
        now = self._now()
        return now - session.seen > IDLE_SECONDS_MAX or now - session.began > AGE_SECONDS_MAX
