"""A line for each partition and fact: only who asks for all of it gets this."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from penstock.core.metadata.image import TopicImage
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.shell.exposition.census import (
    Census,
    is_at_min_isr,
    is_under_min_isr,
    is_under_replicated,
    lags,
)
from penstock.shell.exposition.families import COUNTER, GAUGE, Family, Kind, Sample, single

PARTITIONS_MAX: Final = 12_000
"""Partitions that are told of one by one."""

Told = tuple[Partition, str]
Facts = tuple[tuple[str, Kind, str, Callable[[Partition], float]], ...]

OF_REPLICAS: Final[Facts] = (
    ("kafka_log_log_size", GAUGE, "Bytes of a replica's log.", lambda each: each.log.size_bytes()),
    ("kafka_log_log_logstartoffset", GAUGE, "First offset of a replica.", lambda each: each.log.start_offset),
    ("kafka_log_log_logendoffset", GAUGE, "Next offset of a replica.", lambda each: each.log.end_offset),
    ("penstock_log_size_bytes", GAUGE, "Bytes of a partition's log.", lambda each: each.log.size_bytes()),
    ("penstock_log_start_offset", GAUGE, "First offset of a partition.", lambda each: each.log.start_offset),
    ("penstock_log_end_offset", GAUGE, "Next offset of a partition.", lambda each: each.log.end_offset),
    ("penstock_topic_bytes_in_total", COUNTER, "Bytes produced to a partition.", lambda each: each.bytes_in),
)
OF_LEADERS: Final[Facts] = (
    (
        "kafka_topic_partition_current_offset",
        GAUGE,
        "Where the next record that consumers see will stand.",
        lambda each: each.high_watermark,
    ),
    ("kafka_topic_partition_oldest_offset", GAUGE, "The first record.", lambda each: each.log.start_offset),
    ("kafka_topic_partition_in_sync_replica", GAUGE, "Replicas in sync.", lambda each: _in_sync(each)),
    ("kafka_topic_partition_replicas", GAUGE, "Replicas.", lambda each: len(_replicas(each))),
    (
        "kafka_topic_partition_under_replicated_partition",
        GAUGE,
        "1 where replicas are not in sync.",
        lambda each: int(is_under_replicated(each)),
    ),
    ("kafka_cluster_partition_underminisr", GAUGE, "1 below the minimum.", lambda each: int(is_under_min_isr(each))),
    ("kafka_cluster_partition_atminisr", GAUGE, "1 at the minimum.", lambda each: int(is_at_min_isr(each))),
    ("kafka_cluster_partition_replicascount", GAUGE, "Replicas.", lambda each: len(_replicas(each))),
)


def partition_families(node: Node, census: Census) -> Iterator[Family]:
    for name, kind, text, value in OF_REPLICAS:
        yield Family(name, kind, text, ((label, value(each)) for each, label in _told(census)))
    for name, kind, text, value in OF_LEADERS:
        yield Family(name, kind, text, ((label, value(each)) for each, label in _led(census)))
    text = "1 where the first replica leads."
    yield Family("kafka_topic_partition_leader_is_preferred", GAUGE, text, _preferred(node, _led(census)))
    text = "How many records a follower does not have."
    yield Family("penstock_follower_lag", GAUGE, text, _lags(_led(census)))
    left_out = len(census.partitions) - len(census.labels)
    yield single("penstock_partitions_left_out", GAUGE, "Partitions of which nothing is told.", left_out)


def _told(census: Census) -> Iterator[Told]:
    return zip(census.partitions, census.labels, strict=False)


def _led(census: Census) -> Iterator[Told]:
    return (told for told in _told(census) if told[0].leads)


def _replicas(partition: Partition) -> tuple[int, ...]:
    return partition.replicas if isinstance(partition, ReplicatedLeader) else (0,)


def _in_sync(partition: Partition) -> int:
    return len(partition.in_sync.isr) if isinstance(partition, ReplicatedLeader) else 1


def _preferred(node: Node, led: Iterator[Told]) -> Iterator[Sample]:
    for partition, label in led:
        topic: TopicImage | None = node.image.topic(partition.topic)
        if topic is not None and partition.index < len(topic):
            yield label, int(topic.replicas[partition.index][0] == node.node_id)


def _lags(led: Iterator[Told]) -> Iterator[Sample]:
    for partition, label in led:
        if isinstance(partition, ReplicatedLeader):
            for replica, lag in lags(partition):
                yield f'{label[:-1]},replica="{replica}"}}', lag
