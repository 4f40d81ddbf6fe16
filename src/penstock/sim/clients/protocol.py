"""What members of a group tell each other through the coordinator, in the consumer protocol's bytes."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from penstock.core.wire.stored.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from penstock.sim.events import Partition

VERSION = 2
_version = Struct(">h")


class Claim(NamedTuple):
    """What a member says it owns, and since which generation."""

    generation: int
    partitions: tuple[Partition, ...]


NO_CLAIM: Final = Claim(-1, ())


def encode_subscription(topics: list[str], claim: Claim = NO_CLAIM) -> bytes:
    """The topics that a member wants to read, and what it goes on reading meanwhile."""
    owned = [
        ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=numbers)
        for topic, numbers in _by_topic(claim.partitions).items()
    ]
    subscription = ConsumerProtocolSubscription(topics=topics, owned_partitions=owned, generation_id=claim.generation)
    return _version.pack(VERSION) + subscription.encode(VERSION)


def decode_claim(data: bytes) -> Claim:
    """What a member's subscription says it owns."""
    (version,) = _version.unpack_from(data)
    subscription = ConsumerProtocolSubscription.decode(data, version, _version.size)
    owned = tuple(Partition(each.topic, number) for each in subscription.owned_partitions for number in each.partitions)
    return Claim(subscription.generation_id, owned)


def encode_assignment(partitions: Iterable[Partition]) -> bytes:
    """The partitions that a member gets."""
    assigned = [
        ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
        for topic, numbers in _by_topic(partitions).items()
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


def _by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for partition in partitions:
        found.setdefault(partition.topic, []).append(partition.number)
    return found
