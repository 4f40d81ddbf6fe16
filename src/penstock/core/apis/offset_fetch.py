"""OffsetFetch (9). Versions 1 to 10: 2 gives all offsets for null, 8 asks for many groups, 10 names topics by id."""

from __future__ import annotations

from typing import Any

from penstock.core.apis.asking import ask_shards
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ErrorCode
from penstock.core.groups.fanout import SEVERAL_GROUPS_FROM, merge_offset_fetch, split_offset_fetch
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, on_groups, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from penstock.core.wire.fields import ZERO_UUID
from penstock.core.wire.schema import Response

NO_OFFSET = -1
Named = OffsetFetchRequestTopics | OffsetFetchResponseTopics | OffsetFetchResponseTopic


def handle(node: Node, request: OffsetFetchRequest, slot: Slot) -> Answer:
    version = slot.version
    return ask_shards(
        node,
        slot,
        split_offset_fetch(request, version, node.coordinators.groups.count),
        lambda parts: merge_offset_fetch(parts, version),  # type: ignore[arg-type]  # each part answers its own API
        max(version, SEVERAL_GROUPS_FROM),
    )


def authorize(question: Question) -> Response | None:
    """Each group for itself, and in it each topic; of all topics everybody is told those that he may look at."""
    request = question.request
    if question.version >= SEVERAL_GROUPS_FROM:

        def judged() -> None:
            for group in request.groups:
                _leave_out(question, group)

        return question.set_aside("groups", lambda group: _of_group(question, group.group_id), then=judged)
    if code := _of_group(question, request.group_id):
        return question.refuse(code)
    if request.topics is None:
        question.after.append(lambda answer: _only_describable(question, answer))
        return None
    return question.set_aside("topics", lambda topic: _of_topic(question, topic.name))


def _of_group(question: Question, group_id: str) -> ErrorCode | None:
    allowed = question.may(Operation.DESCRIBE, Resource.GROUP, group_id)
    return None if allowed else ErrorCode.GROUP_AUTHORIZATION_FAILED


def _of_topic(question: Question, name: str | None) -> ErrorCode | None:
    """An id that no topic has is told by whoever looks it up."""
    allowed = name is None or question.may(Operation.DESCRIBE, Resource.TOPIC, name)
    return None if allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _only_describable(question: Question, told: Any) -> None:
    """Of an answer, or of a group in one."""
    told.topics = [each for each in told.topics if _of_topic(question, _name_of(question, each)) is None]


def _leave_out(question: Question, group: OffsetFetchRequestGroup) -> None:
    refused: list[OffsetFetchResponseTopics] = []
    if group.topics is not None:
        codes = [(topic, _of_topic(question, _name_of(question, topic))) for topic in group.topics]
        group.topics = [topic for topic, code in codes if code is None]
        refused = [_refused(topic, code) for topic, code in codes if code is not None]
        question.codes += [code for _, code in codes if code is not None]

    def complete(answer: OffsetFetchResponse) -> None:
        told = next(each for each in answer.groups if each.group_id == group.group_id)
        if group.topics is None:
            _only_describable(question, told)
        elif not told.error_code:
            told.topics += refused

    if refused or group.topics is None:
        question.after.append(complete)


def _name_of(question: Question, topic: Named) -> str | None:
    topic_id = getattr(topic, "topic_id", ZERO_UUID)
    return topic.name if topic_id == ZERO_UUID else question.topic_name(topic_id)


def _refused(topic: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    partitions = [
        OffsetFetchResponsePartitions(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=code)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


API = Api(
    OffsetFetchRequest,
    range(1, 11),
    by_coordinator(handle),
    on_groups(Operation.DESCRIBE, "group_id", "groups.group_id")
    + on_topics(Operation.DESCRIBE, "topics.name", "groups.topics.name", "groups.topics.topic_id"),
    authorize=authorize,
)
