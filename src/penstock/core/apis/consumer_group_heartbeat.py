"""ConsumerGroupHeartbeat (68). Versions 0 and 1: members of groups whose assignment the coordinator makes (KIP-848).

Version 1 adds subscriptions by a regular expression, and lets members choose their ids.
"""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.features import GROUP_VERSION
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, on_groups, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from penstock.core.wire.schema import Response


def handle(node: Node, request: ConsumerGroupHeartbeatRequest, slot: Slot) -> Answer:
    if node.image.features.get(GROUP_VERSION, 0) < 1:
        node.error(slot.api.name, ErrorCode.UNSUPPORTED_VERSION)
        return slot.api.refuse(request, slot.version, ErrorCode.UNSUPPORTED_VERSION, None)
    return ask(node, request, slot)


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
    ConsumerGroupHeartbeatRequest,
    range(2),
    by_coordinator(handle),
    on_groups(Operation.READ, "group_id") + on_topics(Operation.DESCRIBE, "subscribed_topic_names"),
    authorize=authorize,
)
