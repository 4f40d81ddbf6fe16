"""ListGroups (16). Versions 0 to 5: 4 filters by state, 5 by type."""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards_in_turn
from penstock.core.groups.fanout import merge_list_groups
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.list_groups import ListGroupsRequest


def handle(node: Node, request: ListGroupsRequest, slot: Slot) -> Answer:
    return ask_shards_in_turn(
        node,
        slot,
        request,
        lambda coordinator, reply: coordinator.list_groups(request, reply),
        lambda parts: merge_list_groups(parts),  # type: ignore[arg-type]  # each part answers its own API
    )


API = Api(ListGroupsRequest, range(6), handle)
