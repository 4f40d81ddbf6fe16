"""DeleteTopics (20). Versions 1 to 5 name topics, 6 also takes ids."""

from __future__ import annotations

from penstock.core.apis.mutations import STRICT_DELETION_SINCE, by_charged_plan
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.topic_requests import IDS_SINCE, Charge, plan_deletion
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, Resource, on_topics
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.schema import Response


def plan(term: Term, request: DeleteTopicsRequest, version: int, charge: Charge) -> Planned:
    return plan_deletion(term.image, term.settings, request, version, charge)


def authorize(question: Question) -> Response | None:
    """That a name is not there is told to whoever might see it, that an id is not, to everybody. Of a topic that
    somebody may not look at he hears the id only."""
    if question.may(Operation.DELETE, Resource.CLUSTER):
        return None

    def by_name(name: str) -> ErrorCode | None:
        describes = question.may(Operation.DESCRIBE, Resource.TOPIC, name)
        if describes and (question.may(Operation.DELETE, Resource.TOPIC, name) or not question.has_topic(name)):
            return None
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def verdict(topic: DeleteTopicState) -> ErrorCode | None:
        if topic.name is not None:
            return by_name(topic.name)
        name = question.topic_name(topic.topic_id)
        if name is None or question.may(Operation.DELETE, Resource.TOPIC, name):
            return None
        topic.name = name if question.may(Operation.DESCRIBE, Resource.TOPIC, name) else None
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED

    if question.version < IDS_SINCE:
        return question.set_aside("topic_names", by_name)
    return question.set_aside("topics", verdict)


DELETE = on_topics(Operation.DELETE, "topics.name", "topics.topic_id", "topic_names")
API = Api(DeleteTopicsRequest, range(1, 7), by_charged_plan(plan, STRICT_DELETION_SINCE), DELETE, authorize=authorize)
