"""Followers are told of news after everybody was heard who had something to say.

Producers that are under way together arrive in one round of the loop, or in the next. A follower that is told at the
first of them is away when the others come, and each time it is told costs two nodes two turns: it copies and asks
again, which is its acknowledgement. So whoever waits for news is told two rounds later. What is large is told at once:
copying it takes longer than rounds do, and the leader has other things to do meanwhile.

Where producers come one at a time, waiting is in vain. Once it was, the next followers do not wait.
"""

from __future__ import annotations

from typing import Final

from penstock.core.node.fetching.parked_fetch import ParkedFetch, Purgatory
from penstock.core.node.host import Clock

ROUNDS: Final = 2
SMALL_BYTES_MAX: Final = 16_384
UNTRIED_MAX: Final = 16
"""How many are told at once, after waiting was in vain, before it is tried again."""


class FollowerFetchDelay:
    """Those who will be told in a moment."""

    def __init__(self, clock: Clock, purgatory: Purgatory) -> None:
        self._clock = clock
        self._purgatory = purgatory
        self._waiting: list[ParkedFetch] = []
        self._rounds_left = 0
        self._bytes_at_first = 0
        self._untried_left = 0

    def put_off(self, parked: ParkedFetch) -> None:
        if self._waiting:
            self._waiting.append(parked)
        elif parked.bytes >= SMALL_BYTES_MAX:
            self._purgatory.woken.append(parked)
        elif self._untried_left:
            self._untried_left -= 1
            self._purgatory.woken.append(parked)
        else:
            self._waiting.append(parked)
            self._bytes_at_first = parked.bytes
            self._rounds_left = ROUNDS
            self._clock.deadlines.soon(self._go_on)

    def _go_on(self) -> None:
        self._rounds_left -= 1
        if self._rounds_left and all(parked.bytes < SMALL_BYTES_MAX for parked in self._waiting):
            self._clock.deadlines.soon(self._go_on)
            return
        if self._waiting[0].bytes == self._bytes_at_first:
            self._untried_left = UNTRIED_MAX
        self._purgatory.woken += self._waiting
        self._waiting = []
