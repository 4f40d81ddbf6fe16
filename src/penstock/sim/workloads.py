"""Workloads: who does what in a run, as values that are drawn from the seed and can be written down in a test."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import TopicPlan
from penstock.sim.clients.member import GroupPlan
from penstock.sim.clients.producer import ProducerPlan
from penstock.sim.events import Partition
from penstock.sim.scheduler import MS

PLAIN, FLUSHED = "plain", "flushed"


@dataclass(frozen=True, slots=True)
class Workload:
    """Topics, and the clients that use them."""

    topics: tuple[TopicPlan, ...]
    producers: tuple[ProducerPlan, ...]
    consumers: int = 0
    groups: tuple[GroupPlan, ...] = ()
    members_each: int = 0
    fleeting_topics: int = 0
    mutes: int = 0

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Every partition that is written to."""
        return tuple(Partition(topic.name, number) for topic in self.topics for number in range(topic.partitions))

    @property
    def synced_topics(self) -> frozenset[str]:
        """Topics whose acknowledgements survive power loss."""
        return frozenset(topic.name for topic in self.topics if topic.configs.get("flush.messages") == "1")


def draw_workload(chance: Chance) -> Workload:
    """A mixture in which anything may be missing but topics and producers."""
    topics = _draw_topics(chance)
    partitions = [Partition(topic.name, number) for topic in topics for number in range(topic.partitions)]
    producers = tuple(_draw_producer(chance, chance.pick(partitions)) for _ in range(chance.between(2, 4)))
    grouped = tuple(partition for partition in partitions if chance.happens(0.8)) or tuple(partitions)
    has_group = chance.happens(0.7)
    return Workload(
        topics=topics,
        producers=producers,
        consumers=chance.between(1, 2),
        groups=(GroupPlan("group", grouped),) if has_group else (),
        members_each=chance.between(1, 3) if has_group else 0,
        fleeting_topics=chance.between(0, 1),
        mutes=chance.between(0, 1),
    )


def _draw_topics(chance: Chance) -> tuple[TopicPlan, ...]:
    """One topic with Kafka's promise, one that syncs each append; both roll often."""
    return (
        TopicPlan(PLAIN, chance.between(1, 3), _draw_configs(chance)),
        TopicPlan(FLUSHED, chance.between(1, 2), {**_draw_configs(chance), "flush.messages": "1"}),
    )


def _draw_configs(chance: Chance) -> dict[str, str]:
    return {
        "index.interval.bytes": str(chance.pick((0, 500, 4096))),
        "segment.index.bytes": str(chance.pick((48, 240, 10_000))),
        "segment.ms": str(chance.pick((500, 5_000, 600_000))),
        "flush.ms": str(chance.pick((100, 2_000, 9_223_372_036_854_775_807))),
        "file.delete.delay.ms": "1000",
        "retention.ms": "-1",
    }


def _draw_producer(chance: Chance, partition: Partition) -> ProducerPlan:
    if chance.happens(0.6):
        return ProducerPlan(partition, idempotent=True, window_max=5, think_us_max=400 * MS)
    return ProducerPlan(partition, acks=chance.pick((-1, -1, 1, 1, 0)), think_us_max=400 * MS)
