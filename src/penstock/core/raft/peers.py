"""Requests under way: one at a time to each destination, given up after a while, asked again after a pause."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.core.base.values import mutable
from penstock.core.raft.ids import Destination
from penstock.core.raft.settings import RaftSettings
from penstock.core.wire.schema import Request

Random = Callable[[int], int]
"""A number from 0 to below the bound."""


@mutable
class InFlight:
    """A request that waits for its reply."""

    to: Destination
    correlation: int
    request: Request
    expires_ms: int


class Peers:
    """Who was asked what, and who may be asked again when."""

    __slots__ = ("_bootstrap", "_correlation", "_in_flight", "_random", "_resting", "_settings")

    def __init__(self, settings: RaftSettings, bootstrap: tuple[Destination, ...], random: Random) -> None:
        self._settings = settings
        self._bootstrap = bootstrap
        self._random = random
        self._correlation = 0
        self._in_flight: dict[int, InFlight] = {}
        self._resting: dict[int, int] = {}

    def is_ready(self, to: Destination, now_ms: int) -> bool:
        return not (self.is_resting(to, now_ms) or self.is_awaited(to, now_ms))

    def is_resting(self, to: Destination, now_ms: int) -> bool:
        return now_ms < self._resting.get(to.id, now_ms)

    def is_awaited(self, to: Destination, now_ms: int) -> bool:
        waiting = self._in_flight.get(to.id)
        return waiting is not None and now_ms < waiting.expires_ms

    def has_timed_out(self, to: Destination, now_ms: int) -> bool:
        waiting = self._in_flight.get(to.id)
        return waiting is not None and now_ms >= waiting.expires_ms

    def is_anyone_awaited(self, now_ms: int) -> bool:
        return any(now_ms < waiting.expires_ms for waiting in self._in_flight.values())

    def ready_bootstrap(self, known: Iterable[Destination], now_ms: int) -> Destination | None:
        """A bootstrap server, or somebody else who is known, that can be asked now, by chance; none while any request
        is under way."""
        if self.is_anyone_awaited(now_ms):
            return None
        ready = [to for to in (*self._bootstrap, *known) if self.is_ready(to, now_ms)]
        return ready[self._random(len(ready))] if ready else None

    def begin(self, to: Destination, request: Request, now_ms: int) -> int:
        """Note a request that leaves now; gives its correlation."""
        self._correlation += 1
        expires_ms = now_ms + self._settings.request_timeout_ms
        self._in_flight[to.id] = InFlight(to, self._correlation, request, expires_ms)
        self._resting.pop(to.id, None)
        return self._correlation

    def settle(self, to: Destination, correlation: int) -> InFlight | None:
        """The request that a reply belongs to; None for one that nobody waits for any more."""
        waiting = self._in_flight.get(to.id)
        if waiting is None or waiting.correlation != correlation:
            return None
        return self._in_flight.pop(to.id)

    def rest(self, to: Destination, now_ms: int) -> None:
        """It went wrong: leave it in peace for a moment."""
        self._resting[to.id] = now_ms + self._settings.retry_backoff_ms

    def forget(self, to: Destination) -> None:
        """Wait no longer for a destination; a late reply is not taken."""
        self._in_flight.pop(to.id, None)
        self._resting.pop(to.id, None)

    def reset(self) -> None:
        """Another role asks other questions: replies to the old ones are not taken."""
        self._in_flight.clear()
        self._resting.clear()

    def deadlines(self) -> list[int]:
        """When somebody can be asked again, or could have been."""
        return [*[waiting.expires_ms for waiting in self._in_flight.values()], *self._resting.values()]
