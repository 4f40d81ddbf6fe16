"""OffsetCommit (8). Versions 2 to 10: 6 adds leader epochs, 7 static members, 10 names topics by id."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.offset_commit import OffsetCommitRequest


def handle(node: Node, request: OffsetCommitRequest, slot: Slot) -> Answer:
    return ask(
        node,
        request.group_id,
        request,
        slot,
        lambda shard: shard.offset_commit(node.now_ms, request, slot.version, slot),
    )


API = Api(OffsetCommitRequest, range(2, 11), handle)
