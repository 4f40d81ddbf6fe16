"""A live group as a value: its topic, and who comes and goes in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import FOREVER, TopicPlan
from penstock.sim.events import Partition

GROUP: Final = "live"
PARTITIONS: Final = (2, 6)
MEMBERS: Final = (2, 5)
SESSION_MS: Final = 6_000
REBALANCE_MS: Final = 10_000
SETTINGS: Final = {
    "group.consumer.min.session.timeout.ms": str(SESSION_MS),
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.assignment.interval.ms": "200",
}
CLASSIC: Final = (0.0, 0.3, 0.7)
"""How many of the processes that come speak the classic protocol."""
COOPERATIVE: Final = 0.6


@dataclass(frozen=True, slots=True)
class LiveGroupPlan:
    """`classic`: the share of processes that speak the classic protocol, `ends` how many of all steps end one."""

    topic: TopicPlan
    members: int
    classic: float = 0.3
    is_cooperative: bool = True
    ends: float = 0.02
    hangs: float = 0.015
    settings: Mapping[str, str] = field(default_factory=lambda: SETTINGS)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return tuple(Partition(self.topic.name, number) for number in range(self.topic.partitions))


def draw_live_group(chance: Chance, replicas: int, configs: Mapping[str, str]) -> LiveGroupPlan:
    """`configs`: those of a topic that keeps what it has acknowledged."""
    kept = {**{name: configs[name] for name in ("min.insync.replicas", "flush.messages")}, "retention.ms": FOREVER}
    return LiveGroupPlan(
        TopicPlan("live", chance.between(*PARTITIONS), kept, replicas),
        chance.between(*MEMBERS),
        classic=chance.pick(CLASSIC),
        is_cooperative=chance.happens(COOPERATIVE),
    )
