"""Counters of a node, kept as plain numbers on the hot path and rendered only when somebody asks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set

from penstock.core.base.histogram import LENGTH_BOUNDS_MS, Histogram
from penstock.core.node.observing.metadata_rates import MetadataRates
from penstock.core.node.observing.request_times import RequestTimes
from penstock.core.node.observing.telemetry import ClientTelemetry

STALL_MS_MIN = 20
"""A turn that takes as long is a stall: nobody else was served meanwhile."""


class Metrics:
    """What a node has counted since it started."""

    def __init__(self) -> None:
        self.request_times: defaultdict[str, RequestTimes] = defaultdict(RequestTimes)
        """By API."""
        self.errors: Counter[tuple[str, str]] = Counter()
        self.bytes_in = 0
        self.bytes_out = 0
        self.malformed = 0
        self.connections_refused = 0
        self.connections_opened: Counter[str] = Counter()
        self.authentication_failures: Counter[str] = Counter()
        """By listener."""
        self.throttled: Counter[str] = Counter()
        self.throttled_ms = 0
        self.isr_shrinks = 0
        self.isr_expands = 0
        self.leader_elections = 0
        self.unclean_elections = 0
        self.leaderless_ms = Histogram(LENGTH_BOUNDS_MS)
        """How long partitions were led by nobody, as the controller saw it."""
        self.leaderless_since_us: dict[tuple[bytes, int], int] = {}
        self.controller_elections_ms = Histogram(LENGTH_BOUNDS_MS)
        """How long nobody was heard of as the controller, before each time that somebody was."""
        self.telemetry = ClientTelemetry()
        self.metadata_rates = MetadataRates()
        self.metadata_elections = 0
        self.metadata_truncations = 0
        self.metadata_snapshots_installed = 0
        self.indexes_rebuilt = 0
        self.metadata_rebuilds = 0
        self.scrubbed_bytes = 0
        self.stall_ms_max = 0.0
        self.stalls = 0
        self.busy_us = 0
        """How long all turns took together."""

    def answered(self, api: str) -> int:
        """How many requests were."""
        return self.request_times[api].whole().count if api in self.request_times else 0

    def throttle(self, api: str, throttle_ms: int) -> None:
        """A client is told to rest."""
        self.throttled[api] += 1
        self.throttled_ms += throttle_ms

    def forget_topics(self, ids: Set[bytes]) -> None:
        """What nobody led is no more."""
        self.leaderless_since_us = {key: at for key, at in self.leaderless_since_us.items() if key[0] not in ids}

    def took(self, elapsed_us: int) -> None:
        """A turn has ended."""
        self.busy_us += elapsed_us
        elapsed_ms = elapsed_us / 1000
        if elapsed_ms > self.stall_ms_max:
            self.stall_ms_max = elapsed_ms
        if elapsed_ms >= STALL_MS_MIN:
            self.stalls += 1
