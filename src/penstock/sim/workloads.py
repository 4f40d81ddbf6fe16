"""Workloads: who does what in a run, as values that are drawn from the seed and can be written down in a test."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import TopicPlan
from penstock.sim.clients.member import GroupPlan
from penstock.sim.clients.producer import ProducerPlan
from penstock.sim.events import Partition
from penstock.sim.model import OFFSETS_TOPIC
from penstock.sim.rules import TopicRules, rules_of
from penstock.sim.scheduler import MS

PLAIN, FLUSHED, RETAINED, COMPACTED, REBORN = "plain", "flushed", "retained", "compacted", "reborn"
SMALL_SEGMENTS = {"internal.segment.bytes": "6000", "segment.ms": "5000", "file.delete.delay.ms": "1000"}
KEYS = 6
NEVER = str((1 << 63) - 1)


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
    deleters: int = 0
    reborn: tuple[TopicPlan, ...] = ()
    syncs_commits: bool = False

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Every partition that is written to."""
        return tuple(Partition(topic.name, number) for topic in self.topics for number in range(topic.partitions))

    @property
    def deletable(self) -> tuple[Partition, ...]:
        """Partitions from which records may be deleted: not from those that are only compacted."""
        rules = self.rules
        return tuple(each for each in self.partitions if not rules[each.topic].compacted)

    @property
    def rules(self) -> dict[str, TopicRules]:
        """What each topic promises."""
        found = {topic.name: rules_of(topic.configs) for topic in (*self.topics, *self.reborn)}
        return {**found, OFFSETS_TOPIC: TopicRules(synced=self.syncs_commits)}


def draw_workload(chance: Chance) -> Workload:
    """A mixture in which anything may be missing but topics and producers."""
    topics = _draw_topics(chance)
    partitions = [Partition(topic.name, number) for topic in topics for number in range(topic.partitions)]
    producers = tuple(_draw_producer(chance, chance.pick(partitions)) for _ in range(chance.between(2, 4)))
    special = _draw_special(chance)
    producers += tuple(_draw_special_producer(topic) for topic in special)
    grouped = tuple(partition for partition in partitions if chance.happens(0.8)) or tuple(partitions)
    has_group = chance.happens(0.7)
    return Workload(
        topics=topics + special,
        producers=producers,
        consumers=chance.between(1, 2),
        groups=(_draw_group(chance, grouped),) if has_group else (),
        members_each=chance.between(1, 3) if has_group else 0,
        fleeting_topics=chance.between(0, 1),
        mutes=chance.between(0, 1),
        deleters=int(chance.happens(0.5)),
        reborn=(TopicPlan(REBORN, 1, {"flush.messages": chance.pick(("1", NEVER))}),) if chance.happens(0.4) else (),
        syncs_commits=chance.happens(0.3),
    )


def _draw_group(chance: Chance, partitions: tuple[Partition, ...]) -> GroupPlan:
    kind = chance.pick(("plain", "static", "cooperative"))
    return GroupPlan("group", partitions, static=kind == "static", cooperative=kind == "cooperative")


def _draw_topics(chance: Chance) -> tuple[TopicPlan, ...]:
    """One topic with Kafka's promise, one that syncs each append; both roll often."""
    return (
        TopicPlan(PLAIN, chance.between(1, 3), {**_draw_configs(chance), "flush.messages": NEVER}),
        TopicPlan(FLUSHED, chance.between(1, 2), {**_draw_configs(chance), "flush.messages": "1"}),
    )


def _draw_special(chance: Chance) -> tuple[TopicPlan, ...]:
    """Topics that do not keep everything."""
    found = []
    if chance.happens(0.5):
        limits = chance.pick(({"retention.ms": "3000"}, {"retention.bytes": "20000", "retention.ms": "-1"}))
        found.append(TopicPlan(RETAINED, 1, {**SMALL_SEGMENTS, "flush.messages": NEVER, **limits}))
    if chance.happens(0.5):
        delays = {"delete.retention.ms": chance.pick(("0", "2000")), "min.cleanable.dirty.ratio": "0.01"}
        flush = {"flush.messages": chance.pick(("1", NEVER))}
        found.append(TopicPlan(COMPACTED, 1, {**SMALL_SEGMENTS, "cleanup.policy": "compact", **delays, **flush}))
    return tuple(found)


def _draw_special_producer(topic: TopicPlan) -> ProducerPlan:
    keys = KEYS if topic.name == COMPACTED else 0
    return ProducerPlan(Partition(topic.name, 0), idempotent=True, window_max=5, think_us_max=400 * MS, keys=keys)


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
