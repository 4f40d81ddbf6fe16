"""OffsetDelete (47). Version 0: committed offsets of a group are removed."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.offset_delete import OffsetDeleteRequest


def handle(node: Node, request: OffsetDeleteRequest, slot: Slot) -> Answer:
    return ask(
        node,
        request.group_id,
        request,
        slot,
        lambda shard: shard.offset_delete(node.now_ms, request, slot.version, slot),
    )


API = Api(OffsetDeleteRequest, range(1), handle)
