"""JoinGroup (11). Versions 0 to 9: 4 asks newcomers to come back with an id, 5 knows static members, 9 may tell the
leader to leave the assignment as it is.
"""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.join_group import JoinGroupRequest


def handle(node: Node, request: JoinGroupRequest, slot: Slot) -> Answer:
    client_id, host = slot.client_id or "", f"/{slot.connection.host}"
    return ask(
        node,
        request.group_id,
        request,
        slot,
        lambda shard: shard.join_group(node.now_ms, request, slot.version, client_id, host, slot),
    )


API = Api(JoinGroupRequest, range(10), handle)
