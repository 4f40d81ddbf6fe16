"""Counts by upper bound: what a value costs is one search among few bounds."""

from __future__ import annotations

from bisect import bisect_left

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
LENGTH_BOUNDS_MS = (10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000)
"""Of what takes longer than a request: elections, rebalances."""
SIZE_BOUNDS_BYTES = (256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576)


class Histogram:
    """How many values were at most as large as each bound, and their sum; in the unit of the bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[int, ...] = LATENCY_BOUNDS_US) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def __add__(self, other: Histogram) -> Histogram:
        """Both together, by the same bounds."""
        both = Histogram(self.bounds)
        both.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        both.total = self.total + other.total
        return both

    def observe(self, value: int, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times
