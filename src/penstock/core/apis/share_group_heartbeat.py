"""ShareGroupHeartbeat (76). Version 1: members of groups who read the same partitions together (KIP-932)."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.share_groups import where_served
from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.access import Operation, Resource, on_groups, on_topics
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest
from penstock.core.wire.schema import Response


def authorize(question: Question) -> Response | None:
    """A member reads all that it names, or is none."""
    request = question.request
    if not question.may(Operation.READ, Resource.GROUP, request.group_id):
        return question.refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for name in request.subscribed_topic_names or ():
        if not question.may(Operation.DESCRIBE, Resource.TOPIC, name):
            return question.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return None


API = Api(
    ShareGroupHeartbeatRequest,
    range(1, 2),
    by_coordinator(where_served(ask)),
    on_groups(Operation.READ, "group_id") + on_topics(Operation.DESCRIBE, "subscribed_topic_names"),
    authorize=authorize,
)
