"""ShareAcknowledge (79). Versions 1 and 2: what became of records that a member of a share group got (KIP-932).

Version 2 can prolong locks (KIP-1222).
"""

from __future__ import annotations

from penstock.core.apis.share_groups import where_served
from penstock.core.apis.sharing_requests import authorize, check_member, refused
from penstock.core.base.errors import ApiError
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_groups, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.share_acknowledge import ShareAcknowledgeRequest


def handle(node: Node, request: ShareAcknowledgeRequest, slot: Slot) -> Answer:
    try:
        check_member(node, request)
        return node.sharing.acknowledge(request, slot)
    except ApiError as error:
        return refused(node, request, slot, error)


API = Api(
    ShareAcknowledgeRequest,
    range(1, 3),
    where_served(handle),
    on_groups(Operation.READ, "group_id") + on_topics(Operation.READ, "topics.topic_id"),
    authorize=authorize,
)
