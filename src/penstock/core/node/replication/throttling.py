"""Replication at a limited rate: copies that a topic names are sent, and fetched, no faster than the broker allows.

It is meant for copies that are made anew, by a reassignment; who is in sync is never held back at the leader.
"""

from __future__ import annotations

from penstock.core.base.settings import BrokerSettings
from penstock.core.base.throttles import EVERYONE, FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from penstock.core.partition.follower import Follower
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.partition.throttle import UNLIMITED, Throttle


class Throttling:
    """The two rates of a broker, and whom they concern."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self.sending = Throttle()
        self.fetching = Throttle()

    def configure(self, settings: BrokerSettings, now_ms: int) -> None:
        self.sending.set_rate(settings[LEADER_RATE], now_ms)
        self.fetching.set_rate(settings[FOLLOWER_RATE], now_ms)

    def slows_fetching(self, follower: Follower) -> bool:
        return self.fetching.rate_bytes != UNLIMITED and _names(follower, FOLLOWER_REPLICAS, self._node_id)

    def slows_sending(self, leader: ReplicatedLeader, replica_id: int) -> bool:
        if self.sending.rate_bytes == UNLIMITED or replica_id in leader.in_sync.isr:
            return False
        return _names(leader, LEADER_REPLICAS, self._node_id)


def _names(partition: Partition, key: str, broker_id: int) -> bool:
    """Whether the topic's list has this copy: `*`, or `partition:broker` among others."""
    listed = partition.settings.overrides.get(key, "").replace(" ", "")
    return listed == EVERYONE or f"{partition.index}:{broker_id}" in listed.split(",")
