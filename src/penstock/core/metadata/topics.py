"""The controller's decisions about topics: what is asked, checked against the image, becomes records and an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.settings import BrokerSettings, SettingError, validate_topic_overrides
from penstock.core.base.steps import at_once
from penstock.core.base.values import fresh, mutable
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.metadata.image import TOPIC_RESOURCE, Image, PartitionImage, TopicImage, unified
from penstock.core.metadata.placement import Placer, check_assignment
from penstock.core.metadata.reluctance import is_reluctant
from penstock.core.metadata.snapshot import record_of_partition
from penstock.core.wire.api.create_partitions import CreatePartitionsTopic
from penstock.core.wire.api.create_topics import CreatableTopic
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord

TOPIC_NAME_CHARS_MAX = 249
PARTITIONS_PER_REQUEST_MAX = 10_000
"""Kafka refuses requests that would make more records than one user operation may: so do we."""
PLACED_PER_TURN_MAX = 200
"""Partitions that are given their replicas before others get their turn: one to five milliseconds."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Refuse what cannot be a topic (and so a folder) name."""
    problem = None
    if not name:
        problem = "the empty string is not allowed"
    elif name in (".", ".."):
        problem = '"." and ".." are not allowed'
    elif len(name) > TOPIC_NAME_CHARS_MAX:
        problem = f"it is longer than {TOPIC_NAME_CHARS_MAX} characters"
    elif not _LEGAL_NAME.fullmatch(name):
        problem = "only letters, digits, '.', '_' and '-' are allowed"
    if problem:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name {name!r} is illegal: {problem}.")


def is_legal_name(name: str) -> bool:
    try:
        check_topic_name(name)
    except ApiError:
        return False
    return True


def check_collision(image: Image, name: str) -> None:
    """Refuse two names that differ only in '.' and '_': metrics could not tell them apart."""
    other = image.unified_names.get(unified(name))
    if other is not None and other != name:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic {name!r} collides with the existing topic {other!r}.")


@mutable
class NewTopic:
    """A topic that may be created: its records in the order they are stored, and what the answer says of it."""

    image: Image
    name: str
    id: bytes
    partitions: list[list[int]]
    configs: dict[str, str] = fresh(default_factory=dict)

    def records(self) -> Iterable[StoredRecord]:
        yield TopicRecord(name=self.name, topic_id=self.id)
        for key, value in self.configs.items():
            yield ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=self.name, name=key, value=value)
        for index, replicas in enumerate(self.partitions):
            yield _partition_record(self.image, self.id, index, replicas)


def _partition_record(image: Image, topic_id: bytes, index: int, replicas: list[int]) -> PartitionRecord:
    """A new partition; those of its replicas that are alive are in sync, having nothing to be behind of."""
    isr = tuple(replica for replica in replicas if image.is_active(replica))
    leader = next((replica for replica in isr if not is_reluctant(image, replica)), isr[0])
    directories = tuple(image.default_directory(replica) for replica in replicas)
    return record_of_partition(topic_id, index, PartitionImage(tuple(replicas), isr, leader, 0, 0, directories))


def active_brokers(image: Image) -> list[int]:
    return sorted(broker.id for broker in image.brokers.values() if broker.is_active)


def plan_topic(image: Image, settings: BrokerSettings, topic: CreatableTopic, new_id: Callable[[], bytes]) -> NewTopic:
    """Decide about one topic of a CreateTopics request, or raise the error its user gets."""
    return at_once(planning_topic(image, settings, topic, new_id))


def planning_topic(
    image: Image, settings: BrokerSettings, topic: CreatableTopic, new_id: Callable[[], bytes]
) -> Steps[NewTopic]:
    """The same with pauses, for topics of many partitions: what it decided holds for the image that it began with."""
    check_new_topic(image, topic.name)
    configs = _checked_configs(topic)
    if topic.assignments:
        replicas = _manual_replicas(image, topic)
    else:
        replicas = yield from _in_slices(_placed_replicas(image, settings, topic))
    return NewTopic(image, topic.name, new_id(), replicas, configs)


def _in_slices(placed: Iterator[list[int]]) -> Steps[list[list[int]]]:
    replicas: list[list[int]] = []
    for each in placed:
        replicas.append(each)
        if len(replicas) % PLACED_PER_TURN_MAX == 0:
            yield Pause()
    return replicas


def check_new_topic(image: Image, name: str) -> None:
    """Refuse what cannot be created beside what there is, and the name of the metadata log, as Kafka does."""
    if name == METADATA_TOPIC:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
    check_topic_name(name)
    if image.topic(name) is not None:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    check_collision(image, name)


def _checked_configs(topic: CreatableTopic) -> dict[str, str]:
    configs: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Topic config {config.name} has no value.")
        configs[config.name] = config.value
    try:
        validate_topic_overrides(configs)
    except SettingError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return configs


def _manual_replicas(image: Image, topic: CreatableTopic) -> list[list[int]]:
    if topic.replication_factor != -1 or topic.num_partitions != -1:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "With a manual assignment, the number of partitions and the replication factor must both be -1.",
        )
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    found: dict[int, list[int]] = {}
    expected: int | None = None
    for assignment in topic.assignments:
        if assignment.partition_index in found:
            raise ApiError(code, f"Partition {assignment.partition_index} is assigned more than once.")
        _check_manual(image, assignment.partition_index, assignment.broker_ids, expected)
        expected = len(assignment.broker_ids)
        found[assignment.partition_index] = assignment.broker_ids
    if sorted(found) != list(range(len(found))):
        raise ApiError(code, "The assigned partitions must be numbered from 0 without a gap.")
    return [found[index] for index in range(len(found))]


def _check_manual(image: Image, index: int, replicas: list[int], expected: int | None) -> None:
    check_assignment(replicas, image.brokers, expected)
    if not any(image.is_active(replica) for replica in replicas):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers specified for partition {index} are fenced or in controlled shutdown.",
        )


def _placed_replicas(image: Image, settings: BrokerSettings, topic: CreatableTopic) -> Iterator[list[int]]:
    factor = topic.replication_factor
    if factor == 0 or factor < -1:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be above 0, or -1 for the default."
        )
    if topic.num_partitions == 0 or topic.num_partitions < -1:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be above 0, or -1 for the default.")
    partitions = settings["num.partitions"] if topic.num_partitions == -1 else topic.num_partitions
    if partitions > PARTITIONS_PER_REQUEST_MAX:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, f"A request may create at most {PARTITIONS_PER_REQUEST_MAX} partitions."
        )
    factor = settings["default.replication.factor"] if factor == -1 else factor
    return Placer(image.brokers.values(), len(image.topics)).place(partitions, factor)


def plan_partitions(image: Image, topic: CreatePartitionsTopic) -> list[StoredRecord]:
    """Decide about one topic of a CreatePartitions request."""
    known = image.topic(topic.name)
    if known is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic.name!r}.")
    added = topic.count - len(known)
    if added <= 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic {topic.name!r} has {len(known)} partition(s); {topic.count} would not be an increase.",
        )
    if added > PARTITIONS_PER_REQUEST_MAX:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, f"A request may create at most {PARTITIONS_PER_REQUEST_MAX} partitions."
        )
    replicas = _added_replicas(image, known, topic, added)
    return [_partition_record(image, known.id, index, each) for index, each in enumerate(replicas, len(known))]


def _added_replicas(image: Image, known: TopicImage, topic: CreatePartitionsTopic, added: int) -> list[list[int]]:
    factor = len(known.replicas[0])
    if topic.assignments is None:
        existing = (known.replicas[index] for index in range(len(known)))
        return list(Placer(image.brokers.values(), len(known), existing).place(added, factor))
    if len(topic.assignments) != added:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partition(s) are to be added, but {len(topic.assignments)} assignment(s) were given.",
        )
    for index, assignment in enumerate(topic.assignments, len(known)):
        _check_manual(image, index, assignment.broker_ids, factor)
    return [assignment.broker_ids for assignment in topic.assignments]


def plan_removal(topic: TopicImage) -> list[StoredRecord]:
    return [RemoveTopicRecord(topic_id=topic.id)]
