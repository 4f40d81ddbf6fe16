"""One look at all replicas of a node, some of them in each turn: what can only be said of all of them together."""

from __future__ import annotations

from collections import Counter
from typing import Final

from penstock.core.base.ports import Pause, Steps
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.shell.exposition.families import labels

LOOKED_AT_PER_TURN_MAX: Final = 500
"""About a millisecond of work."""


class Census:
    """How many there are of each kind, and how large topics are."""

    def __init__(self) -> None:
        self.partitions: list[Partition] = []
        self.labels: list[str] = []
        """Of each partition, where one by one is told of them."""
        self.leaders = 0
        self.under_replicated = 0
        self.under_min_isr = 0
        self.at_min_isr = 0
        self.follower_lag_max = 0
        self.log_bytes: Counter[str] = Counter()
        self.lags: Counter[int] = Counter()
        """By follower, how many records of what is led here it does not have."""

    def look(self, partition: Partition, *, is_told: bool) -> None:
        self.partitions.append(partition)
        if is_told:
            self.labels.append(labels(topic=partition.topic, partition=partition.index))
        self.log_bytes[partition.topic] += partition.log.size_bytes()
        if partition.leads:
            self.leaders += 1
        if isinstance(partition, ReplicatedLeader):
            self._look_at_others(partition)

    def _look_at_others(self, leader: ReplicatedLeader) -> None:
        self.under_replicated += is_under_replicated(leader)
        self.under_min_isr += is_under_min_isr(leader)
        self.at_min_isr += is_at_min_isr(leader)
        for replica, lag in lags(leader):
            self.lags[replica] += lag
            self.follower_lag_max = max(self.follower_lag_max, lag)


def take_census(node: Node, told_max: int = 0) -> Steps[Census]:
    """Replicas that come while it is taken are left out."""
    census = Census()
    partitions = list(node.replicas) if node.has_opened else []
    for at in range(0, len(partitions), LOOKED_AT_PER_TURN_MAX):
        if at:
            yield Pause()
        for partition in partitions[at : at + LOOKED_AT_PER_TURN_MAX]:
            if not partition.removed:
                census.look(partition, is_told=len(census.partitions) < told_max)
    return census


def is_under_replicated(partition: Partition) -> bool:
    return isinstance(partition, ReplicatedLeader) and len(partition.in_sync.isr) < len(partition.replicas)


def is_under_min_isr(partition: Partition) -> bool:
    return isinstance(partition, ReplicatedLeader) and len(partition.in_sync.isr) < partition.in_sync_min


def is_at_min_isr(partition: Partition) -> bool:
    return isinstance(partition, ReplicatedLeader) and len(partition.in_sync.isr) == partition.in_sync_min


def lags(leader: ReplicatedLeader) -> list[tuple[int, int]]:
    """Of each follower that has been heard of, how many records it does not have."""
    end = leader.log.end_offset
    return [(each.id, max(end - each.end_offset, 0)) for each in leader.remotes.values() if each.end_offset >= 0]
