"""ConsumerGroupDescribe (69). Versions 0 and 1: groups whose assignment the coordinator makes; 1 says of which protocol
a member is."""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.rights import operations
from penstock.core.groups.fanout import merge_consumer_describe, split_consumer_describe
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, on_groups
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire import Message
from penstock.core.wire.api.consumer_group_describe import ConsumerGroupDescribeRequest


def handle(node: Node, request: ConsumerGroupDescribeRequest, slot: Slot) -> Answer:
    def merge(parts: list[Message]) -> Message:
        merged = merge_consumer_describe(parts)  # type: ignore[arg-type]  # each part answers its own API
        for group in merged.groups:
            if request.include_authorized_operations and group.error_code == 0:
                group.authorized_operations = operations(node, slot, Resource.GROUP, group.group_id)
        return merged

    parts = split_consumer_describe(request, node.coordinators.groups.count)
    return ask_shards(node, slot, parts, merge, slot.version)


API = Api(ConsumerGroupDescribeRequest, range(2), by_coordinator(handle), on_groups(Operation.DESCRIBE, "group_ids"))
