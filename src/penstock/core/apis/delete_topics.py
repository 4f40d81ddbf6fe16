"""DeleteTopics (20). Versions 1 to 5 name topics, 6 also takes ids."""

from __future__ import annotations

from penstock.core.apis.committing import commit
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.image import TopicImage
from penstock.core.metadata.topics import plan_removal
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from penstock.core.wire.schema import StoredRecord

ZERO_ID = bytes(16)


def handle(node: Node, request: DeleteTopicsRequest, slot: Slot) -> Answer:
    wanted = request.topics if slot.version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    records: list[StoredRecord] = []
    results: list[DeletableTopicResult] = []
    seen: set[str] = set()
    for each in wanted:
        try:
            topic = _find(node, each, seen)
        except ApiError as error:
            results.append(_refused(node, each, error))
            continue
        seen.add(topic.name)
        records += plan_removal(topic)
        results.append(DeletableTopicResult(name=topic.name, topic_id=topic.id, error_code=0))
    return commit(node, slot, records, results, DeleteTopicsResponse(responses=results))


def _find(node: Node, wanted: DeleteTopicState, seen: set[str]) -> TopicImage:
    image = node.quorum.latest
    by_id = wanted.topic_id != ZERO_ID
    if by_id == (wanted.name is not None):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Give each topic by its name or by its id, not both.")
    topic = image.topic_by_id(wanted.topic_id) if by_id else image.topic(wanted.name or "")
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.name in seen:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {topic.name!r} is named more than once.")
    if not node.settings["delete.topic.enable"]:
        raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED)
    return topic


def _refused(node: Node, wanted: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    code = node.error("DeleteTopics", error.code)
    return DeletableTopicResult(
        name=wanted.name, topic_id=wanted.topic_id, error_code=code, error_message=error.message
    )


API = Api(DeleteTopicsRequest, range(1, 7), handle)
