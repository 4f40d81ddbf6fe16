"""What a coordinator counts of its groups."""

from __future__ import annotations

from penstock.core.base.histogram import LENGTH_BOUNDS_MS, Histogram


class GroupCounts:
    """Of all groups of a node, whatever their kinds."""

    __slots__ = ("rebalance_ms", "rebalances")

    def __init__(self) -> None:
        self.rebalances = 0
        """Those that have begun."""
        self.rebalance_ms = Histogram(LENGTH_BOUNDS_MS)
        """From the first member that came or went until each has its assignment, for those that got there."""
