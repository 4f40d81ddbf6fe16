"""A fetch in purgatory: it waits for enough bytes or for its deadline."""

from __future__ import annotations

from typing import Protocol

from penstock.core.node.deadlines import Deadline
from penstock.core.node.fetching.fetch_session import FetchSession
from penstock.core.node.host import Clock
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.fetch import FetchRequest


class PutsOff(Protocol):
    """Who lets followers wait a moment longer."""

    def put_off(self, parked: ParkedFetch) -> None: ...


class Purgatory(Protocol):
    """Where those who are woken are answered at the end of the turn."""

    woken: list[ParkedFetch]

    @property
    def follower_fetch_delay(self) -> PutsOff: ...


class ParkedFetch:
    """One request that waits, and the session that it reads with."""

    __slots__ = ("bytes", "deadline", "purgatory", "request", "session", "slot", "woken")

    def __init__(
        self, clock: Clock, purgatory: Purgatory, session: FetchSession, request: FetchRequest, slot: Slot, ready: int
    ) -> None:
        self.purgatory = purgatory
        self.session = session
        self.request = request
        self.slot = slot
        self.bytes = ready
        self.woken = False
        self.deadline: Deadline = clock.deadlines.at(clock.now_ms + request.max_wait_ms, self.wake)

    def news(self, size: int, urgent: bool) -> None:
        self.bytes += size
        if urgent or self.bytes >= self.request.min_bytes:
            self.wake()

    def wake(self) -> None:
        if not self.woken:
            self.woken = True
            self.deadline.cancel()
            if self.session.replica is None:
                self.purgatory.woken.append(self)
            else:
                self.purgatory.follower_fetch_delay.put_off(self)
