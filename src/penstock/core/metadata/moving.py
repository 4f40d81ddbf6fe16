"""Balancing the cluster of an image: the picture that a planner needs, and the records that carry out its plan.

A broker that joins is marked in the metadata, so that whoever controls knows that it is yet to get its share. Others
keep what they have: that they hold little may be what somebody wants.

Copies are made under Kafka's replication throttles. The rates are set for all brokers while a bunch of moves is under
way, and the topics name the copies they are meant for; both go when the bunch has arrived. What people have set for
themselves is left as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from penstock.core.base.settings import BrokerSettings
from penstock.core.base.throttles import EVERYONE, LISTS, RATES
from penstock.core.metadata.balancing import Layout, Shift, Site
from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, Image, TopicImage
from penstock.core.metadata.reassignments import plan_reassignments
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ConfigRecord

THROTTLE: Final = "auto.balance.throttle.bytes.per.second"
PENDING: Final = "auto.balance.pending"
_ALL_BROKERS: Final = ""
_TRUE: Final = "true"
_TOPIC_KEY_PREFIX: Final = f"{TOPIC_RESOURCE}/"


def pending(image: Image) -> list[int]:
    """The brokers that have joined and are yet to get their share."""
    return [
        broker_id
        for broker_id in sorted(image.brokers)
        if image.config(BROKER_RESOURCE, str(broker_id)).get(PENDING) == _TRUE
    ]


def marking(image: Image, broker_id: int) -> list[StoredRecord]:
    """What is written for a broker that registers: a mark, if the cluster has never heard of it and has something to
    share."""
    is_new = broker_id not in image.brokers and len(image.topics) > 0
    return [_mark(broker_id, _TRUE)] if is_new else []


def unmarking(image: Image) -> list[StoredRecord]:
    return [_mark(broker_id, None) for broker_id in pending(image)]


def _mark(broker_id: int, value: str | None) -> StoredRecord:
    return ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=str(broker_id), name=PENDING, value=value)


def sites(image: Image) -> list[Site]:
    """Everybody who is registered; only who is to get its share, and has room for it, takes more."""
    takers = [broker_id for broker_id in pending(image) if image.brokers[broker_id].takes_copies]
    return [Site(broker.id, broker.rack, broker.host, takes=broker.id in takers) for broker in image.brokers.values()]


class Layouts:
    """The topics of an image, which can be gone through again and again without being listed once."""

    __slots__ = ("_image",)

    def __init__(self, image: Image) -> None:
        self._image = image

    def __iter__(self) -> Iterator[Layout]:
        return (Layout(topic.name, topic.replicas) for topic in self._image.topics.values())


def unrest(image: Image) -> str | None:
    """Why this is not the time to move anything, as far as that can be told without looking at partitions."""
    for broker in image.brokers.values():
        if broker.fenced:
            return f"broker {broker.id} is fenced"
        if broker.in_controlled_shutdown:
            return f"broker {broker.id} is shutting down"
    if image.tally.leaderless:
        return "partitions have no leader"
    return "partitions are moving" if image.tally.reassigning else None


def is_whole(topic: TopicImage) -> bool:
    """Whether every replica of a topic is in sync."""
    if topic.isrs.codes == topic.replicas.codes:
        return True
    pairs = set(zip(topic.isrs.codes, topic.replicas.codes, strict=True))
    sets = topic.replicas.table.values
    return all(len(sets[isr]) == len(sets[replicas]) for isr, replicas in pairs)


def beginning(image: Image, settings: BrokerSettings, shifts: Iterable[Shift]) -> list[StoredRecord]:
    """The records with which moves begin. What has changed since they were planned stays as it is."""
    valid = [shift for shift in shifts if _still_holds(image, shift)]
    topics: defaultdict[str, list[Shift]] = defaultdict(list)
    for shift in valid:
        topics[shift.topic].append(shift)
    request = AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(
                name=name,
                partitions=[
                    ReassignablePartition(partition_index=shift.number, replicas=list(shift.after)) for shift in found
                ],
            )
            for name, found in topics.items()
        ]
    )
    moves, _ = plan_reassignments(image, settings, request)
    return [*_throttling(image, str(settings[THROTTLE]), topics), *moves]


def _still_holds(image: Image, shift: Shift) -> bool:
    topic = image.topic(shift.topic)
    partition = None if topic is None else topic.find(shift.number)
    if partition is None or partition.is_reassigning or partition.replicas != shift.before:
        return False
    return len(partition.isr) == len(partition.replicas) and all(map(image.is_active, shift.after))


# Throttles


def is_throttled(image: Image, rate: str) -> bool:
    """Whether a bunch that was begun at this rate has left its throttles."""
    found = image.config(BROKER_RESOURCE, _ALL_BROKERS)
    return all(found.get(name) == rate for name in RATES)


def _throttling(image: Image, rate: str, topics: dict[str, list[Shift]]) -> list[StoredRecord]:
    """Nothing where people have a rate of their own for all brokers: then they throttle as they like."""
    found = image.config(BROKER_RESOURCE, _ALL_BROKERS)
    if any(found.get(name, rate) != rate for name in RATES):
        return []
    records: list[StoredRecord] = []
    for name, shifts in topics.items():
        copies = [shift for shift in shifts if shift.coming]
        if copies and not any(key in image.config(TOPIC_RESOURCE, name) for key in LISTS):
            records += _listing(name, copies)
    return [*_rates(rate), *records] if records else []


def _listing(topic: str, copies: Sequence[Shift]) -> list[StoredRecord]:
    sending = [f"{shift.number}:{replica}" for shift in copies for replica in shift.before]
    fetching = [f"{shift.number}:{replica}" for shift in copies for replica in shift.coming]
    return [
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=topic, name=key, value=",".join(entries))
        for key, entries in zip(LISTS, (sending, fetching), strict=True)
    ]


def _rates(rate: str | None) -> list[StoredRecord]:
    return [
        ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=_ALL_BROKERS, name=name, value=rate) for name in RATES
    ]


def unthrottling(image: Image) -> list[StoredRecord]:
    """Take the throttles of moves that have arrived away again. Lists of everyone were never made by us."""
    records: list[StoredRecord] = []
    for key, configs in image.configs.items():
        if key.startswith(_TOPIC_KEY_PREFIX) and all(configs.get(name, EVERYONE) != EVERYONE for name in LISTS):
            topic = key.removeprefix(_TOPIC_KEY_PREFIX)
            records += [
                ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=topic, name=name, value=None) for name in LISTS
            ]
    return [*_rates(None), *records]
