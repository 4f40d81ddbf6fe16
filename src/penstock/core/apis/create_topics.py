"""CreateTopics (19). Versions 2 to 7: 5 answers with settings and counts, 7 with topic ids."""

from __future__ import annotations

from collections import Counter

from penstock.core.apis.committing import commit
from penstock.core.apis.forwarded import forwarded
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.settings import describe_topic
from penstock.core.base.steps import at_once
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import Image
from penstock.core.metadata.topics import NewTopic, check_new_topic, planning_topic
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Api, Slot
from penstock.core.wire import Message
from penstock.core.wire.api.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.core.wire.schema import StoredRecord

Planned = tuple[list[StoredRecord], list[CreatableTopicResult]]

AT_ONCE_MAX = 500
"""Partitions that are planned within one turn; a request for more takes some."""
RECORDS_PER_TURN_MAX = 500


def handle(node: Node, request: CreateTopicsRequest, slot: Slot) -> Answer:
    if sum(max(topic.num_partitions, len(topic.assignments)) for topic in request.topics) <= AT_ONCE_MAX:
        return _commit(node, request, slot, at_once(_planning(node, request)))
    node.tasks.run(_create_slowly(node, request, slot))
    return PENDING


def _commit(node: Node, request: CreateTopicsRequest, slot: Slot, planned: Planned) -> Answer:
    records, results = planned
    response = CreateTopicsResponse(topics=results)
    return commit(node, slot, [] if request.validate_only else records, results, response)


def _create_slowly(node: Node, request: CreateTopicsRequest, slot: Slot) -> Steps[None]:
    """Plan with pauses, and again where what was planned does not fit what has come meanwhile."""
    while True:
        image = node.quorum.latest
        planned = yield from _planning(node, request)
        if _holds(image, node.quorum.latest, planned):
            break
    answer = _commit(node, request, slot, planned)
    if isinstance(answer, Message):
        slot.reply(answer)


def _holds(then: Image, now: Image, planned: Planned) -> bool:
    """Whether the same brokers serve as when it was planned, and nobody has taken the names."""
    try:
        for result in planned[1]:
            if result.error_code == 0:
                check_new_topic(now, result.name)
    except ApiError:
        return False
    return then.brokers == now.brokers


def _planning(node: Node, request: CreateTopicsRequest) -> Steps[Planned]:
    """Decide about each topic in turn, on an image that has the ones before it."""
    image = node.quorum.latest
    records: list[StoredRecord] = []
    results: list[CreatableTopicResult] = []
    names = Counter(topic.name for topic in request.topics)
    # A name that was given twice is refused once.
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if names[topic.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {topic.name!r} is named more than once.")
            planned = yield from planning_topic(image, node.settings, topic, node.new_id)
        except ApiError as error:
            results.append(_refused(node, topic.name, error))
            continue
        added = yield from _records(planned)
        records += added
        results.append(_created(node, planned))
        if len(results) < len(names):
            image, _ = fold(image, added, image.offset)
    return records, results


def _records(topic: NewTopic) -> Steps[list[StoredRecord]]:
    records: list[StoredRecord] = []
    for record in topic.records():
        records.append(record)
        if len(records) % RECORDS_PER_TURN_MAX == 0:
            yield Pause()
    return records


def _refused(node: Node, name: str, error: ApiError) -> CreatableTopicResult:
    code = node.error("CreateTopics", error.code)
    return CreatableTopicResult(name=name, error_code=code, error_message=error.message)


def _created(node: Node, topic: NewTopic) -> CreatableTopicResult:
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
            for each in sorted(describe_topic(node.settings, topic.configs))
        ],
    )


API = Api(CreateTopicsRequest, range(2, 8), forwarded(handle))
