"""Counters of a node, kept as plain numbers on the hot path and rendered only when somebody asks."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

LATENCY_BOUNDS_US = (
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
)


class Histogram:
    """Counts by upper bound, in microseconds."""

    __slots__ = ("counts", "total_us")

    def __init__(self) -> None:
        self.counts = [0] * (len(LATENCY_BOUNDS_US) + 1)
        self.total_us = 0

    def observe(self, value_us: int, times: int = 1) -> None:
        self.counts[bisect_left(LATENCY_BOUNDS_US, value_us)] += times
        self.total_us += value_us * times


class Metrics:
    """What a node has counted since it started."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.latency: dict[str, Histogram] = {}
        self.errors: Counter[tuple[str, str]] = Counter()
        self.bytes_in = 0
        self.bytes_out = 0
        self.malformed = 0
        self.connections_refused = 0
        self.metadata_elections = 0
        self.metadata_truncations = 0
        self.metadata_snapshots_installed = 0
        self.stall_ms_max = 0.0

    def observe(self, api: str, elapsed_us: int, times: int = 1) -> None:
        self.requests[api] += times
        histogram = self.latency.get(api)
        if histogram is None:
            histogram = self.latency[api] = Histogram()
        histogram.observe(elapsed_us, times)
