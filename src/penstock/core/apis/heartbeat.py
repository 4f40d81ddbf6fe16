"""Heartbeat (12). Versions 0 to 4: a member is alive; 3 names static members."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.heartbeat import HeartbeatRequest


def handle(node: Node, request: HeartbeatRequest, slot: Slot) -> Answer:
    return ask(
        node,
        request.group_id,
        request,
        slot,
        lambda shard: shard.heartbeat(node.now_ms, request, slot.version, slot),
    )


API = Api(HeartbeatRequest, range(5), handle)
