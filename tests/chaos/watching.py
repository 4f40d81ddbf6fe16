"""Looking on while something happens: every node is asked again and again who leads."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import NamedTuple, Self

from tests.chaos.asking import View
from tests.chaos.cluster import ChaosCluster, Node

INTERVAL_SECONDS = 0.02
FRESH_SECONDS = 0.25
"""What a node said longer ago than this may not hold any more."""


class Sighting(NamedTuple):
    """What one node said at one moment."""

    at: float
    views: list[View]


class Watcher:
    """Asks every node in a thread of its own, because one that hangs answers nobody."""

    def __init__(self, cluster: ChaosCluster, topic: str) -> None:
        self._topic = topic
        self.seen: dict[int, list[Sighting]] = {number: [] for number in cluster.nodes}
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(node,), name=f"watcher-{node.number}", daemon=True)
            for node in cluster.nodes.values()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _watch(self, node: Node) -> None:
        while not self._is_over.wait(INTERVAL_SECONDS):
            views = node.views(self._topic)
            if views:
                self.seen[node.number].append(Sighting(time.monotonic(), views))

    def told_without(self, victim: int, begin: float) -> float | None:
        """How long after a moment somebody first said that others than the victim lead everything."""
        found = [
            sighting.at - begin
            for number, sightings in self.seen.items()
            for sighting in sightings
            if number != victim and sighting.at > begin
            if all(view.leader > 0 and view.leader != victim for view in sighting.views)
        ]
        return min(found, default=None)

    def longest_leaderless(self, partition: int) -> float:
        """The longest time in which nobody named a leader for a partition that answered questions itself."""
        moments = sorted((each.at, number, each.views) for number, seen in self.seen.items() for each in list(seen))
        answered: dict[int, float] = {}
        longest, led_at = 0.0, moments[0][0] if moments else 0.0
        for at, number, views in moments:
            answered[number] = at
            leader = next((view.leader for view in views if view.partition == partition), -1)
            if at - answered.get(leader, 0.0) <= FRESH_SECONDS:
                longest, led_at = max(longest, at - led_at), at
        return max(longest, moments[-1][0] - led_at if moments else 0.0)
