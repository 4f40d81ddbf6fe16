"""SyncGroup (14). Versions 0 to 5: the leader hands in the assignment, everyone gets a part; 3 names static members."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.sync_group import SyncGroupRequest


def handle(node: Node, request: SyncGroupRequest, slot: Slot) -> Answer:
    return ask(
        node,
        request.group_id,
        request,
        slot,
        lambda shard: shard.sync_group(node.now_ms, request, slot.version, slot),
    )


API = Api(SyncGroupRequest, range(6), handle)
