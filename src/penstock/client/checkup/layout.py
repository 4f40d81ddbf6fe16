"""Where partitions are: replicas that lack, brokers that are away, uneven shares, more partitions than needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from penstock.client.checkup.facts import Facts
from penstock.client.checkup.finding import Finding, Severity
from penstock.client.metadata import NO_NODE, TopicPartition

REPLICAS_PER_BROKER_MAX: Final = 4_000
EMPTY_PARTITIONS_MAX: Final = 50
SKEW_RATIO_MAX: Final = 4
SKEW_BYTES_MIN: Final = 1 << 20
LEADERS_RATIO_MAX: Final = 2
LEADERS_MIN: Final = 8
NAMED_MAX: Final = 5
HEALTH: Final = "penstock cluster health"


def offline_partitions(facts: Facts) -> Iterator[Finding]:
    if places := facts.health.offline:
        evidence = f"nobody leads {named(places)}: it can neither be written nor read"
        yield Finding(Severity.CRITICAL, "offline", _count(len(places), "partition"), evidence, HEALTH)


def under_replicated(facts: Facts) -> Iterator[Finding]:
    health = facts.health
    behind = [where for where in health.under_replicated if where not in health.offline]
    if not behind:
        return
    critical = [where for where in behind if where in health.under_min]
    evidence = f"not all replicas are in sync of {named(behind)}"
    if critical:
        evidence += f"; acks=all is refused by {named(critical)}"
    severity = Severity.CRITICAL if critical else Severity.WARNING
    yield Finding(severity, "under-replicated", _count(len(behind), "partition"), evidence, HEALTH)


def brokers_away(facts: Facts) -> Iterator[Finding]:
    if facts.health.controller is None:
        evidence = "nothing can be created, and no leader elected"
        yield Finding(Severity.CRITICAL, "no-controller", "the cluster", evidence, "penstock cluster quorum")
    for broker in facts.health.fenced:
        evidence = "it is registered, and not let in: it is down, or does not send heartbeats"
        yield Finding(Severity.CRITICAL, "fenced", f"broker {broker}", evidence, HEALTH)
    for voter in facts.health.voters_behind:
        evidence = "it has not had all metadata for seconds, and counts as missing in elections"
        yield Finding(Severity.WARNING, "voter-behind", f"voter {voter}", evidence, "penstock cluster quorum")


def unreachable_listeners(facts: Facts) -> Iterator[Finding]:
    for node, reason in facts.unreachable.items():
        address = next((broker.address for broker in facts.brokers if broker.node_id == node), "its address")
        evidence = f"it advertises {address}, where nobody answers from here ({reason})"
        fix = f"penstock config describe --broker {node} --all | grep listeners"
        yield Finding(Severity.CRITICAL, "listener", f"broker {node}", evidence, fix)


def uneven_partitions(facts: Facts) -> Iterator[Finding]:
    """By the bytes of their leaders' logs; a topic of one partition has no share to give."""
    for topic in facts.topics:
        sizes = _sizes(facts, topic.name, len(topic.partitions))
        if len(sizes) < 2:
            continue
        largest, usual = max(sizes.values()), median(sizes.values())
        if largest >= SKEW_BYTES_MIN and largest > SKEW_RATIO_MAX * usual:
            number = max(sizes, key=lambda each: sizes[each])
            evidence = f"partition {number} has {largest} bytes, the usual one {usual:.0f}"
            fix = f"penstock consume {topic.name} -p {number} --from -1000 --to end --format '{{key}}' | sort | uniq -c"
            yield Finding(Severity.WARNING, "skew", f"topic {topic.name}", evidence, fix)


def _sizes(facts: Facts, topic: str, partitions: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for folder in facts.log_dirs:
        for where, size in folder.sizes.items():
            if where.topic == topic:
                found[where.partition] = max(size, found.get(where.partition, 0))
    return {number: found[number] for number in range(partitions) if number in found}


def uneven_leaders(facts: Facts) -> Iterator[Finding]:
    alive = [broker.node_id for broker in facts.brokers if not broker.is_fenced]
    counts = Counter(dict.fromkeys(alive, 0))
    counts.update(each.leader for topic in facts.topics for each in topic.partitions if each.leader != NO_NODE)
    drained = facts.health.drained
    counts = Counter({broker: count for broker, count in counts.items() if broker not in drained})
    if len(counts) < 2 or sum(counts.values()) < LEADERS_MIN:
        return
    (most, led), least = counts.most_common(1)[0], min(counts.values())
    if led > LEADERS_RATIO_MAX * max(least, 1):
        evidence = f"broker {most} leads {led} partitions, another one {least}"
        yield Finding(Severity.WARNING, "uneven-leaders", "the cluster", evidence, "penstock cluster balance --execute")


def too_many_partitions(facts: Facts) -> Iterator[Finding]:
    counts = Counter(node for topic in facts.topics for each in topic.partitions for node in each.replicas)
    for node, count in sorted(counts.items()):
        if count > REPLICAS_PER_BROKER_MAX:
            evidence = f"it has {count} replicas; more than {REPLICAS_PER_BROKER_MAX} make restarts and elections slow"
            yield Finding(Severity.WARNING, "many-partitions", f"broker {node}", evidence, "penstock topic list")
    for topic in facts.topics:
        sizes = _sizes(facts, topic.name, len(topic.partitions))
        if len(topic.partitions) > EMPTY_PARTITIONS_MAX and sizes and not any(sizes.values()):
            evidence = f"it has {len(topic.partitions)} partitions and no records"
            fix = f"penstock topic delete {topic.name} --execute && penstock topic create {topic.name} --partitions 6"
            yield Finding(Severity.WARNING, "many-partitions", f"topic {topic.name}", evidence, fix)


def named(places: Sequence[TopicPartition]) -> str:
    shown = ", ".join(map(str, places[:NAMED_MAX]))
    return shown if len(places) <= NAMED_MAX else f"{shown} and {len(places) - NAMED_MAX} more"


def _count(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
