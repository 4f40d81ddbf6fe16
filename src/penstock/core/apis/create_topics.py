"""CreateTopics (19). Versions 2 to 7: 5 answers with settings and counts, 7 with topic ids."""

from __future__ import annotations

from collections import Counter

from penstock.core.apis.committing import commit
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import describe_topic
from penstock.core.metadata.fold import fold
from penstock.core.metadata.topics import NewTopic, plan_topic
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.core.wire.schema import StoredRecord


def handle(node: Node, request: CreateTopicsRequest, slot: Slot) -> Answer:
    records, results = _plan(node, request)
    response = CreateTopicsResponse(topics=results)
    return commit(node, slot, [] if request.validate_only else records, results, response)


def _plan(node: Node, request: CreateTopicsRequest) -> tuple[list[StoredRecord], list[CreatableTopicResult]]:
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
            planned = plan_topic(image, node.settings, topic, node.new_id)
        except ApiError as error:
            results.append(_refused(node, topic.name, error))
            continue
        added = list(planned.records())
        records += added
        results.append(_created(node, planned))
        if len(results) < len(names):
            image, _ = fold(image, added, image.offset)
    return records, results


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


API = Api(CreateTopicsRequest, range(2, 8), handle)
