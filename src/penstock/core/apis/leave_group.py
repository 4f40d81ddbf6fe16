"""LeaveGroup (13). Versions 0 to 5: members go; from 3 many at once, static ones by their instance."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.leave_group import LeaveGroupRequest


def handle(node: Node, request: LeaveGroupRequest, slot: Slot) -> Answer:
    return ask(
        node,
        request.group_id,
        request,
        slot,
        lambda shard: shard.leave_group(node.now_ms, request, slot.version, slot),
    )


API = Api(LeaveGroupRequest, range(6), handle)
