"""How often brokers are heard of, and how long their silence is taken for a pause.

Both grow with the number of brokers, because one controller hears them all.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.base.settings import BrokerSettings

INTERVAL_PER_BROKER_MS = 5
"""A controller hears at most 200 heartbeats a second: some percent of its time."""
INTERVALS_PER_SESSION_MIN = 4
"""A session outlives some heartbeats that are lost or late."""


class Pace(NamedTuple):
    """The two times that brokers and controller agree on without talking: both know the settings and the image."""

    interval_ms: int
    session_ms: int

    @classmethod
    def of(cls, settings: BrokerSettings, brokers: int) -> Pace:
        interval_ms = max(settings["broker.heartbeat.interval.ms"], brokers * INTERVAL_PER_BROKER_MS)
        session_ms = settings["broker.session.timeout.ms"]
        return cls(interval_ms, max(session_ms, interval_ms * INTERVALS_PER_SESSION_MIN))

    @property
    def lease_ms(self) -> int:
        """How long after it was heard of a broker may take its word for the cluster's. The controller answers only
        while it was sure to be one within the other half of a session, and its successor gives everybody a whole one:
        so no two can have given away the same partition."""
        return self.session_ms // 2
