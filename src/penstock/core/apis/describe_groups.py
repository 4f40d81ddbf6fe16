"""DescribeGroups (15). Versions 0 to 6: 3 adds authorised operations, 6 tells a missing group by an error."""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.rights import operations
from penstock.core.groups.fanout import merge_describe_groups, split_describe_groups
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, on_groups
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire import Message
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest


def handle(node: Node, request: DescribeGroupsRequest, slot: Slot) -> Answer:
    def merge(parts: list[Message]) -> Message:
        merged = merge_describe_groups(parts)  # type: ignore[arg-type]  # each part answers its own API
        for group in merged.groups:
            if request.include_authorized_operations and group.error_code == 0:
                group.authorized_operations = operations(node, slot, Resource.GROUP, group.group_id)
        return merged

    return ask_shards(
        node,
        slot,
        split_describe_groups(request, node.coordinators.groups.count),
        merge,
        slot.version,
    )


API = Api(DescribeGroupsRequest, range(7), by_coordinator(handle), on_groups(Operation.DESCRIBE, "groups"))
