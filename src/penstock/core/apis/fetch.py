"""Fetch (1). Versions 4 to 12 name topics, 13 and later use ids; sessions since 7 (KIP-227).

On the listeners of controllers the metadata log is fetched, and nothing else.
"""

from __future__ import annotations

from penstock.core.apis.places import ask_quorum
from penstock.core.apis.rights import may
from penstock.core.base.errors import ErrorCode
from penstock.core.node.fetching.fetch_session import replica_of
from penstock.core.node.node import Node
from penstock.core.node.serving.access import CLUSTER_ACTION, Operation, Resource, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.authorizing import by_handler
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.fetch import FetchRequest


def handle(node: Node, request: FetchRequest, slot: Slot) -> Answer:
    if slot.context.listener in node.controller_listeners:
        if not may(node, slot, Operation.CLUSTER_ACTION, Resource.CLUSTER):
            code = ErrorCode(node.error("Fetch", ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return slot.api.refuse(request, slot.version, code, None)
        return ask_quorum(node, request, slot)
    return node.fetching.fetch(request, slot)


API = Api(
    FetchRequest,
    range(4, 19),
    handle,
    on_topics(Operation.READ, "topics.topic", "topics.topic_id") + CLUSTER_ACTION,
    authorize=by_handler,
    is_of_nodes=lambda request: replica_of(request) is not None,
)
