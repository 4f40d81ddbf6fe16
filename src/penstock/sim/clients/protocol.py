"""What members of a group tell each other through the coordinator, in the consumer protocol's bytes."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from penstock.core.wire.stored.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from penstock.sim.events import Partition

VERSION = 1
_version = Struct(">h")


def encode_subscription(topics: list[str]) -> bytes:
    """The topics that a member wants to read."""
    return _version.pack(VERSION) + ConsumerProtocolSubscription(topics=topics).encode(VERSION)


def encode_assignment(partitions: Iterable[Partition]) -> bytes:
    """The partitions that a member gets."""
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.number)
    assigned = [
        ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()
    ]
    return _version.pack(VERSION) + ConsumerProtocolAssignment(assigned_partitions=assigned).encode(VERSION)


def decode_assignment(data: bytes) -> tuple[Partition, ...]:
    """The partitions in an assignment; none in an empty one."""
    if not data:
        return ()
    (version,) = _version.unpack_from(data)
    assignment = ConsumerProtocolAssignment.decode(data, version, _version.size)
    return tuple(
        Partition(topic.topic, number) for topic in assignment.assigned_partitions for number in topic.partitions
    )
