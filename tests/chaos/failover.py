"""A count of records during which the leader of a topic's only partition dies."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from tests.chaos.cluster import ChaosCluster

RECORDS = 600
RECORDS_PER_SECOND = 400


class Failover:
    """Kills the leader when a third of the records have passed, whoever counts them."""

    def __init__(self, cluster: ChaosCluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._passed = 0
        self.killed: int | None = None

    def pass_one(self) -> None:
        self._passed += 1
        if self._passed == RECORDS // 3:
            self.strike()

    def strike(self) -> None:
        self.killed = self._cluster.leader_of(self._topic)
        self._cluster.nodes[self.killed].kill()

    def numbers(self) -> Iterator[int]:
        """What a producer sends, at a steady rate, so that something is under way when the leader dies."""
        pace = threading.Event()
        for number in range(RECORDS):
            self.pass_one()
            pace.wait(1 / RECORDS_PER_SECOND)
            yield number

    def repair(self) -> None:
        assert self.killed is not None, "the leader was to die"
        self._cluster.start([self.killed])
        self._cluster.wait_healed(self._topic)
