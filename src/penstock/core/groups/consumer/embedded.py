"""The protocol that consumers of classic groups speak with each other, as far as the coordinator has to speak it: what
a member reads and has, and what it is given."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from penstock.core.groups.consumer.member import Partitions
from penstock.core.groups.topics import TopicLookup
from penstock.core.wire import DecodeError
from penstock.core.wire.stored.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)

PROTOCOL_TYPE: Final = "consumer"
_VERSION: Final = struct.Struct(">h")
_VERSION_MAX: Final = 3


class MalformedProtocol(Exception):
    """What a member has sent for others cannot be read."""


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Newer versions begin as the newest that we know does."""
    try:
        return ConsumerProtocolSubscription.decode_from(data, _version_of(data), _VERSION.size)[0]
    except (struct.error, DecodeError) as wrong:
        raise MalformedProtocol from wrong


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Who has not been given anything yet has no bytes at all."""
    if not data:
        return ConsumerProtocolAssignment()
    try:
        return ConsumerProtocolAssignment.decode_from(data, _version_of(data), _VERSION.size)[0]
    except (struct.error, DecodeError) as wrong:
        raise MalformedProtocol from wrong


def written_assignment(topics: TopicLookup, partitions: Partitions, subscription: bytes) -> bytes:
    """In the version of the member's own words; topics that are gone have no names."""
    version = _version_of(subscription)
    named = sorted((name, numbers) for each, numbers in partitions.items() if (name := topics.name_of(each)))
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=sorted(numbers)) for name, numbers in named
        ]
    )
    return _VERSION.pack(version) + assignment.encode(version)


def by_id(
    topics: TopicLookup,
    named: Iterable[ConsumerProtocolSubscriptionTopicPartition | ConsumerProtocolAssignmentTopicPartition],
) -> Partitions:
    """Of topics that exist."""
    found = [(topics.id_of(each.topic), frozenset(each.partitions)) for each in named]
    return {topic_id: numbers for topic_id, numbers in found if topic_id is not None and numbers}


def _version_of(data: bytes) -> int:
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise MalformedProtocol
    return min(version, _VERSION_MAX)
