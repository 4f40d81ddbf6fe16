"""What the APIs of streams groups have in common: a cluster must have agreed that there are such groups."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.features import STREAMS_VERSION
from penstock.core.node.node import Node
from penstock.core.node.serving.api import Answer, Handler
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.schema import Request


def where_served(handle: Handler[Node]) -> Handler[Node]:
    """Refuse with UNSUPPORTED_VERSION below `streams.version` 1."""

    def answer(node: Node, request: Request, slot: Slot) -> Answer:
        if node.image.features.get(STREAMS_VERSION, 0) < 1:
            node.error(slot.api.name, ErrorCode.UNSUPPORTED_VERSION)
            return slot.api.refuse(request, slot.version, ErrorCode.UNSUPPORTED_VERSION, None)
        return handle(node, request, slot)

    return answer
