"""DeleteGroups (42). Versions 0 to 2: remove empty groups and their offsets."""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards
from penstock.core.apis.places import by_coordinator
from penstock.core.groups.fanout import merge_delete_groups, split_delete_groups
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_groups
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest


def handle(node: Node, request: DeleteGroupsRequest, slot: Slot) -> Answer:
    return ask_shards(
        node,
        slot,
        split_delete_groups(request, node.coordinators.groups.count),
        lambda parts: merge_delete_groups(parts),  # type: ignore[arg-type]  # each part answers its own API
        slot.version,
    )


API = Api(DeleteGroupsRequest, range(3), by_coordinator(handle), on_groups(Operation.DELETE, "groups_names"))
