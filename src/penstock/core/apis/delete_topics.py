"""DeleteTopics (20). Versions 1 to 5 name topics, 6 also takes ids."""

from __future__ import annotations

from penstock.core.apis.committing import commit
from penstock.core.apis.forwarded import forwarded
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
from penstock.core.wire.fields import ZERO_UUID
from penstock.core.wire.schema import StoredRecord


def handle(node: Node, request: DeleteTopicsRequest, slot: Slot) -> Answer:
    wanted = request.topics if slot.version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    records: list[StoredRecord] = []
    results: list[DeletableTopicResult] = []
    named: dict[object, list[DeleteTopicState]] = {}
    for each in wanted:
        named.setdefault(_identity(node, each), []).append(each)
    for first, *more in named.values():
        try:
            topic = _find(node, first)
            if more:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {topic.name!r} is named more than once.")
        except ApiError as error:
            results.append(_refused(node, first, error))
            continue
        records += plan_removal(topic)
        results.append(DeletableTopicResult(name=topic.name, topic_id=topic.id, error_code=0))
    return commit(node, slot, records, results, DeleteTopicsResponse(responses=results))


def _identity(node: Node, wanted: DeleteTopicState) -> object:
    """What makes two entries mean the same topic: its name, however it was given."""
    topic = node.quorum.latest.topic_by_id(wanted.topic_id)
    return (wanted.name, wanted.topic_id) if topic is None or wanted.name is not None else (topic.name, ZERO_UUID)


def _find(node: Node, wanted: DeleteTopicState) -> TopicImage:
    image = node.quorum.latest
    by_id = wanted.topic_id != ZERO_UUID
    if by_id == (wanted.name is not None):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Give each topic by its name or by its id, not both.")
    topic = image.topic_by_id(wanted.topic_id) if by_id else image.topic(wanted.name or "")
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not node.settings["delete.topic.enable"]:
        raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED)
    return topic


def _refused(node: Node, wanted: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    code = node.error("DeleteTopics", error.code)
    return DeletableTopicResult(
        name=wanted.name, topic_id=wanted.topic_id, error_code=code, error_message=error.message
    )


API = Api(DeleteTopicsRequest, range(1, 7), forwarded(handle))
