"""Which followers this node, as their leader, hears of no more.

A follower that is alive fetches again and again, whether there is news or not. One that does not is dead, hangs or is
cut off from here, and whoever waits for it need not wait until it counts as slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FULL_LAGS_PER_SILENCE: Final = 3
"""A follower that says its disk is full need not be waited for as long as one that says nothing: it has what it was
sent within milliseconds, or will not have it."""
LOOKS_PER_SILENCE: Final = 6
"""How often to look within the time after which a follower counts as silent."""
FETCHES_PER_SILENCE: Final = 3
"""Fetches that found nothing new may be missed, before anybody says that a follower is silent."""

FETCHES_PER_SILENCE_OF_A_LEADER: Final = 2
SILENCES_PER_WIRE: Final = 2
"""After how many times that long a connection is given up over which a leader owes an answer."""


class Silence:
    """When each follower last fetched anything, by the clock that nobody sets."""

    def __init__(self) -> None:
        self._heard_ms: dict[int, int] = {}
        self.limit_ms = 0
        self.answer_ms = 0
        """How long a leader may take to answer a fetch, before clients are told of it that it is gone."""
        self.doubt_ms = 0
        """And until when they are told that: by then the controller has replaced it, or it hears of it, and only this
        node does not."""
        self.wire_ms = 0
        """When another connection is tried, at first. What was sent into a network that was cut is sent again by the
        system at ever longer intervals, long after the network is whole."""

    def configure(self, limit_ms: int, fetch_wait_ms: int) -> None:
        self.limit_ms = max(limit_ms, FETCHES_PER_SILENCE * fetch_wait_ms)
        self.answer_ms = FETCHES_PER_SILENCE_OF_A_LEADER * fetch_wait_ms
        self.doubt_ms = self.answer_ms + self.limit_ms
        self.wire_ms = SILENCES_PER_WIRE * self.limit_ms

    @property
    def full_lag_ms(self) -> int:
        return self.limit_ms // FULL_LAGS_PER_SILENCE

    @property
    def interval_ms(self) -> int:
        return max(1, self.limit_ms // LOOKS_PER_SILENCE)

    def heard(self, broker_id: int, now_ms: int) -> None:
        """It fetches; or it should from now on."""
        self._heard_ms[broker_id] = now_ms

    def forgive(self, late_ms: int) -> None:
        """This node itself did nothing for a while, so that nobody could be heard."""
        for broker_id in self._heard_ms:
            self._heard_ms[broker_id] += late_ms

    def forget(self, broker_ids: Iterable[int]) -> None:
        """Nobody here waits for them."""
        for broker_id in broker_ids:
            self._heard_ms.pop(broker_id, None)

    def silent(self, now_ms: int) -> frozenset[int]:
        return frozenset(each for each, heard_ms in self._heard_ms.items() if now_ms - heard_ms > self.limit_ms)
