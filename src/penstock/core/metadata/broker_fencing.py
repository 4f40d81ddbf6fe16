"""What becomes of a broker's partitions when it is fenced, shuts down, comes back, is full, drained or forgotten.

Leaving always has the same order: first a record that keeps the broker out of new in-sync sets, then its partitions,
then what makes the departure complete.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.brokers import FULL_DIRECTORY, BrokerImage
from penstock.core.metadata.image import Image, TopicImage
from penstock.core.metadata.partition_change import PartitionChange
from penstock.core.metadata.reluctance import reluctant_brokers
from penstock.core.metadata.rules import has_eligible_leaders, rules_for
from penstock.core.metadata.sweep import Sweep
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import BrokerRegistrationChangeRecord, UnregisterBrokerRecord

YES, NO = 1, -1
"""How a change of a registration sets and clears a flag."""


def fencing(image: Image, settings: BrokerSettings, broker: BrokerImage) -> Sweep:
    """The broker no longer answers, or asks for it."""
    return _leaving(image, settings, broker.id, opening=_fence(broker))


def unfencing(image: Image, settings: BrokerSettings, broker: BrokerImage) -> Sweep:
    """The broker may lead again: partitions without a leader look whether they can have it."""
    record = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=NO)
    find = TopicImage.leaderless if image.tally.leaderless else None
    return Sweep(image, find, partial(_reconsider, settings), opening=[record])


def shutting_down(image: Image, settings: BrokerSettings, broker: BrokerImage) -> Sweep:
    """The broker hands over what it leads, and is told to stop once others have heard of that."""
    record = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=YES)
    opening = [] if broker.in_controlled_shutdown else [record]
    return _leaving(image, settings, broker.id, opening=opening)


def returning(
    image: Image, settings: BrokerSettings, broker_id: int, *, was_clean: bool, registration: StoredRecord
) -> Sweep:
    """A new process with a known id. If the last one did not stop cleanly, what its log holds is uncertain: the broker
    leaves the eligible leaders as well. The registration comes last: until then it can be tried again."""
    known = image.brokers.get(broker_id)
    distrust = has_eligible_leaders(image) and not was_clean
    opening = [] if known is None else _fence(known)
    return _leaving(image, settings, broker_id, distrust=distrust, opening=opening, closing=[registration])


def unregistering(image: Image, settings: BrokerSettings, broker: BrokerImage) -> Sweep:
    """The broker is gone for good, and counts for nothing any more."""
    closing = UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    distrust = has_eligible_leaders(image)
    return _leaving(image, settings, broker.id, distrust=distrust, opening=_fence(broker), closing=[closing])


def losing_directories(
    image: Image, settings: BrokerSettings, broker: BrokerImage, offline: Sequence[bytes]
) -> Sweep | None:
    """Directories of a broker have failed. None if there are no such, or no others: then the broker is fenced."""
    left = [directory for directory in broker.directories if directory not in offline]
    if not offline or not left:
        return None
    record = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=left)

    def find(topic: TopicImage) -> list[int]:
        return [index for index in topic.counting_on(broker.id) if _is_on(topic, index, broker.id, offline)]

    return Sweep(image, find, partial(_drop, settings, broker.id, False), opening=[record])


def cordoning(image: Image, settings: BrokerSettings, broker: BrokerImage, cordoned: Sequence[bytes]) -> Sweep:
    """The broker says which of its directories take no new replicas, and whether its disk is full."""
    record = BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned)
    )
    others = reluctant_brokers(image) - {broker.id}
    if FULL_DIRECTORY in cordoned:
        return _relieving(image, settings, others | {broker.id}, opening=[record])
    # Who has room again can take over what others would rather not lead.
    return _relieving(image, settings, others if broker.is_full else frozenset(), opening=[record])


def relieving(image: Image, settings: BrokerSettings, *, opening: Sequence[StoredRecord] = ()) -> Sweep:
    """Partitions that are led by brokers which would rather not look whether another can lead them."""
    return _relieving(image, settings, reluctant_brokers(image), opening=opening)


def _relieving(
    image: Image, settings: BrokerSettings, reluctant: Set[int], *, opening: Sequence[StoredRecord] = ()
) -> Sweep:
    find = (lambda topic: topic.led_by(reluctant)) if reluctant else None
    return Sweep(image, find, partial(_reconsider, settings), opening=opening)


def abandoned(image: Image, settings: BrokerSettings, broker: BrokerImage) -> Sweep:
    """Partitions that still count on a broker that left: the controller died before it had given them to others."""
    return _leaving(image, settings, broker.id)


def leaderless(image: Image, settings: BrokerSettings) -> Sweep:
    """Partitions without a leader look whether they can have one."""
    find = TopicImage.leaderless if image.tally.leaderless else None
    return Sweep(image, find, partial(_reconsider, settings))


def _is_on(topic: TopicImage, index: int, broker_id: int, directories: Sequence[bytes]) -> bool:
    partition = topic.partition(index)
    return broker_id in partition.replicas and partition.directory(broker_id) in directories


def _fence(broker: BrokerImage) -> list[StoredRecord]:
    if broker.fenced:
        return []
    return [BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=YES)]


def _leaving(
    image: Image,
    settings: BrokerSettings,
    broker_id: int,
    *,
    distrust: bool = False,
    opening: Sequence[StoredRecord] = (),
    closing: Sequence[StoredRecord] = (),
) -> Sweep:
    def find(topic: TopicImage) -> list[int]:
        return topic.counting_on(broker_id)

    return Sweep(image, find, partial(_drop, settings, broker_id, distrust), opening=opening, closing=closing)


def _drop(
    settings: BrokerSettings, broker_id: int, distrust: bool, image: Image, topic: TopicImage, indexes: list[int]
) -> list[StoredRecord]:
    rules = rules_for(image, settings, topic)
    records: list[StoredRecord] = []
    for index in indexes:
        change = PartitionChange(rules, topic.partition(index))
        change.drop(broker_id, distrust=distrust)
        record = change.record(topic.id, index)
        if record is not None:
            records.append(record)
    return records


def _reconsider(settings: BrokerSettings, image: Image, topic: TopicImage, indexes: list[int]) -> list[StoredRecord]:
    rules = rules_for(image, settings, topic)
    changes = (PartitionChange(rules, topic.partition(index)).record(topic.id, index) for index in indexes)
    return [record for record in changes if record is not None]
