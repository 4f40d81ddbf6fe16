"""ListGroups (16). Versions 0 to 5: 4 filters by state, 5 by type."""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards
from penstock.core.groups.fanout import merge_list_groups
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.list_groups import ListGroupsRequest


def handle(node: Node, request: ListGroupsRequest, slot: Slot) -> Answer:
    return ask_shards(
        node,
        slot,
        dict.fromkeys(node.coordinators.local, request),
        lambda shard, part, reply: shard.list_groups(node.now_ms, part, slot.version, reply),
        lambda parts: merge_list_groups(parts),  # type: ignore[arg-type]  # each part answers its own API
        slot.version,
    )


API = Api(ListGroupsRequest, range(6), handle)
