"""CreateTopics, CreatePartitions and DeleteTopics as plans: the image and a request give records and an answer.

Each topic of a request stands or falls alone; what may be done is one batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.settings import BrokerSettings, describe_topic
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import Image, TopicImage
from penstock.core.metadata.policies import Policies
from penstock.core.metadata.topics import NewTopic, check_new_topic, plan_partitions, plan_removal, planning_topic
from penstock.core.wire.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from penstock.core.wire.api.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.core.wire.api.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from penstock.core.wire.fields import ZERO_UUID
from penstock.core.wire.schema import StoredRecord

RECORDS_PER_TURN_MAX = 500
IDS_SINCE = 6
"""The version of DeleteTopics that takes ids."""

Created = tuple[list[StoredRecord], CreateTopicsResponse]
Charge = Callable[[str, int], None]
"""Told of a topic and how many of its partitions would come or go; raises where its client may not have so many now."""


def free(topic: str, partitions: int) -> None:
    """Nobody counts."""


def planning_creation(
    image: Image,
    settings: BrokerSettings,
    request: CreateTopicsRequest,
    new_id: Callable[[], bytes],
    charge: Charge = free,
) -> Steps[Created]:
    """Decide about each topic in turn, on an image that has the ones before it."""
    records: list[StoredRecord] = []
    results: list[CreatableTopicResult] = []
    names, policies = Counter(topic.name for topic in request.topics), Policies(image, settings)
    # A name that was given twice is refused once.
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            _check_named_once(names, topic.name)
            planned = yield from planning_topic(image, settings, topic, new_id)
            policies.check_new(topic.name, len(planned.partitions), len(planned.partitions[0]))
            charge(topic.name, len(planned.partitions))
        except ApiError as error:
            results.append(_not_created(topic.name, error))
            continue
        added = yield from _records(planned)
        records += added
        results.append(_created(settings, planned))
        if len(results) < len(names):
            image, _ = fold(image, added, image.offset)
    return [] if request.validate_only else records, CreateTopicsResponse(topics=results)


def creation_holds(then: Image, now: Image, response: CreateTopicsResponse) -> bool:
    """Whether the same brokers serve as when it was planned, and nobody has taken the names."""
    try:
        for result in response.topics:
            if result.error_code == 0:
                check_new_topic(now, result.name)
    except ApiError:
        return False
    return then.brokers == now.brokers


def plan_more_partitions(
    image: Image, settings: BrokerSettings, request: CreatePartitionsRequest, charge: Charge = free
) -> tuple[list[StoredRecord], CreatePartitionsResponse]:
    records: list[StoredRecord] = []
    results: list[CreatePartitionsTopicResult] = []
    names, policies = Counter(topic.name for topic in request.topics), Policies(image, settings)
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            _check_named_once(names, topic.name)
            added = plan_partitions(image, topic)
            policies.check_more(topic.name, topic.count - len(added), len(added))
            charge(topic.name, len(added))
            records += added
            results.append(CreatePartitionsTopicResult(name=topic.name, error_code=0))
        except ApiError as error:
            refused = CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            results.append(refused)
    return [] if request.validate_only else records, CreatePartitionsResponse(results=results)


def plan_deletion(
    image: Image, settings: BrokerSettings, request: DeleteTopicsRequest, version: int, charge: Charge = free
) -> tuple[list[StoredRecord], DeleteTopicsResponse]:
    wanted = request.topics if version >= IDS_SINCE else [DeleteTopicState(name=name) for name in request.topic_names]
    records: list[StoredRecord] = []
    results: list[DeletableTopicResult] = []
    named: dict[object, list[DeleteTopicState]] = {}
    for each in wanted:
        named.setdefault(_identity(image, each), []).append(each)
    for first, *more in named.values():
        try:
            topic = _find(image, settings, first)
            if more:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {topic.name!r} is named more than once.")
            charge(topic.name, len(topic))
        except ApiError as error:
            results.append(_not_deleted(first, error))
            continue
        records += plan_removal(topic)
        results.append(DeletableTopicResult(name=topic.name, topic_id=topic.id, error_code=0))
    return records, DeleteTopicsResponse(responses=results)


def _check_named_once(names: Counter[str], name: str) -> None:
    if names[name] > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {name!r} is named more than once.")


def _records(topic: NewTopic) -> Steps[list[StoredRecord]]:
    records: list[StoredRecord] = []
    for record in topic.records():
        records.append(record)
        if len(records) % RECORDS_PER_TURN_MAX == 0:
            yield Pause()
    return records


def _not_created(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


def _created(settings: BrokerSettings, topic: NewTopic) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.id,
        error_code=0,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0]),
        configs=[
            CreatableTopicConfigs(
                name=each.name,
                value=each.value,
                read_only=each.read_only,
                config_source=each.source,
                is_sensitive=each.is_sensitive,
            )
            for each in sorted(describe_topic(settings, topic.configs))
        ],
    )


def _identity(image: Image, wanted: DeleteTopicState) -> object:
    """What makes two entries mean the same topic: its name, however it was given."""
    topic = image.topic_by_id(wanted.topic_id)
    return (wanted.name, wanted.topic_id) if topic is None or wanted.name is not None else (topic.name, ZERO_UUID)


def _find(image: Image, settings: BrokerSettings, wanted: DeleteTopicState) -> TopicImage:
    by_id = wanted.topic_id != ZERO_UUID
    if by_id == (wanted.name is not None):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Give each topic by its name or by its id, not both.")
    topic = image.topic_by_id(wanted.topic_id) if by_id else image.topic(wanted.name or "")
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not settings["delete.topic.enable"]:
        raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED)
    return topic


def _not_deleted(wanted: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=wanted.name, topic_id=wanted.topic_id, error_code=error.code, error_message=error.message
    )
