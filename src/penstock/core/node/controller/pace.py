"""How often brokers are heard of, and how long their silence is taken for a pause.

Both grow with the number of brokers, because one controller hears them all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from penstock.core.base.settings import BrokerSettings

INTERVAL_PER_BROKER_MS = 5
"""A controller hears at most 200 heartbeats a second: some percent of its time."""
INTERVALS_PER_SESSION_MIN = 6
"""A session outlives some heartbeats that are lost or late, and so does a lease."""
LEASES_PER_SESSION = 3
"""Two in a row end before a session does."""


class Pace(NamedTuple):
    """The two times that brokers and controller agree on without talking: both know the settings and the image."""

    interval_ms: int
    session_ms: int

    @classmethod
    @lru_cache(maxsize=64)  # Every heartbeat asks several times, and settings never change: there are others then.
    def of(cls, settings: BrokerSettings, brokers: int) -> Pace:
        interval_ms = max(settings["broker.heartbeat.interval.ms"], brokers * INTERVAL_PER_BROKER_MS)
        session_ms = settings["broker.session.timeout.ms"]
        return cls(interval_ms, max(session_ms, interval_ms * INTERVALS_PER_SESSION_MIN))

    @property
    def lease_ms(self) -> int:
        """How long after it was heard of a broker may take its word for the cluster's; and for how long a controller
        goes on to answer after it was last sure to be one."""
        return self.session_ms // LEASES_PER_SESSION

    @property
    def inherited_ms(self) -> int:
        """After this time all is over that earlier controllers have granted: the last of them was sure of its lead
        before it lost it, went on for a lease, and gave one."""
        return 2 * self.lease_ms
