"""Facts of a cluster that nothing is wrong with, and how to change one of them."""

from __future__ import annotations

from penstock.client.admin import LogDir, Setting
from penstock.client.checkup.facts import Facts, GroupLook, Sample
from penstock.client.health import Health
from penstock.client.metadata import PartitionView, TopicPartition, TopicView
from penstock.client.quorum import Registered

NOW_MS = 1_700_000_000_000
MB = 1 << 20
BROKERS = (1, 2, 3)


def partition(number: int, replicas: tuple[int, ...] = BROKERS, leader: int | None = None) -> PartitionView:
    first = replicas[number % len(replicas)] if leader is None else leader
    return PartitionView(number, first, 0, replicas, replicas, ())


def topic(name: str = "orders", partitions: int = 6, replicas: tuple[int, ...] = BROKERS) -> TopicView:
    return TopicView(name, bytes(16), False, tuple(partition(number, replicas) for number in range(partitions)))


def settings(**own: str) -> dict[str, Setting]:
    """A topic's: the defaults, and what was set, with _ for a dot."""
    defaults = {
        "cleanup.policy": "delete",
        "min.insync.replicas": "2",
        "retention.ms": "604800000",
        "segment.ms": "604800000",
        "retention.bytes": "-1",
        "segment.bytes": "1073741824",
        "min.compaction.lag.ms": "0",
        "max.compaction.lag.ms": "9223372036854775807",
        "unclean.leader.election.enable": "false",
    }
    given = {name.replace("_", "."): value for name, value in own.items()}
    found = {name: Setting(name, value, "default", True, False, False) for name, value in defaults.items()}
    return found | {name: Setting(name, value, "topic", False, False, False) for name, value in given.items()}


def disk(broker: int, share: float = 0.5, sizes: tuple[int, ...] = (MB,) * 6) -> LogDir:
    there = {TopicPartition("orders", number): size for number, size in enumerate(sizes)}
    return LogDir(broker, "/data", 1000, round(1000 * (1 - share)), there)


HEALTH = Health(1, (), (), (), (), (), (), (), (), (), ())
SAMPLE = Sample(1000, {b"a": 200, b"b": 150}, 20, 0, NOW_MS)
LOOKS = [GroupLook("Stable", frozenset({"m"}), committed, 10) for committed in (100, 200, 300, 400)]
FACTS = Facts(
    NOW_MS,
    HEALTH,
    [topic()],
    [Registered(number, f"host-{number}", 9092, None, False) for number in BROKERS],
    {"orders": settings()},
    [disk(number) for number in BROKERS],
    {"orders": SAMPLE},
    {"billing": LOOKS},
    {"broker 1": 100, "broker 2": -100},
    {},
)
