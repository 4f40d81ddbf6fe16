"""DeleteShareGroupOffsets (92). Version 0: let a share group without members forget topics."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.share_groups import where_served
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_groups, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)


def handle(node: Node, request: DeleteShareGroupOffsetsRequest, slot: Slot) -> Answer:
    if not request.group_id:
        return DeleteShareGroupOffsetsResponse(error_code=node.error(slot.api.name, ErrorCode.INVALID_GROUP_ID))
    return ask(node, request, slot)


API = Api(
    DeleteShareGroupOffsetsRequest,
    range(1),
    by_coordinator(where_served(handle)),
    on_groups(Operation.DELETE, "group_id") + on_topics(Operation.READ, "topics.topic_name"),
)
