"""StreamsGroupDescribe (89). Version 0.

A group whose application has a topic that the client may not describe is not described.
"""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.rights import may, operations
from penstock.core.apis.streams_groups import where_served
from penstock.core.base.errors import ErrorCode
from penstock.core.groups.fanout import merge_streams_describe, split_streams_describe
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, on_groups
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire import Message
from penstock.core.wire.api.streams_group_describe import DescribedGroup, StreamsGroupDescribeRequest

HIDDEN = "The group has described topic(s) that the client is not authorized to describe."


def handle(node: Node, request: StreamsGroupDescribeRequest, slot: Slot) -> Answer:
    def merge(parts: list[Message]) -> Message:
        merged = merge_streams_describe(parts)  # type: ignore[arg-type]  # each part answers its own API
        for group in merged.groups:
            if request.include_authorized_operations and group.error_code == 0:
                group.authorized_operations = operations(node, slot, Resource.GROUP, group.group_id)
        merged.groups = [group if _may_see(node, slot, group) else _hidden(group) for group in merged.groups]
        return merged

    parts = split_streams_describe(request, node.coordinators.groups.count)
    return ask_shards(node, slot, parts, merge, slot.version)


def _may_see(node: Node, slot: Slot, group: DescribedGroup) -> bool:
    named: set[str] = set()
    for each in () if group.topology is None else group.topology.subtopologies or ():
        named.update(each.source_topics, each.repartition_sink_topics)
        named.update(topic.name for topic in (*each.state_changelog_topics, *each.repartition_source_topics))
    return all(may(node, slot, Operation.DESCRIBE, Resource.TOPIC, name) for name in named)


def _hidden(group: DescribedGroup) -> DescribedGroup:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return DescribedGroup(group_id=group.group_id, error_code=code, error_message=HIDDEN)


API = Api(
    StreamsGroupDescribeRequest,
    range(1),
    by_coordinator(where_served(handle)),
    on_groups(Operation.DESCRIBE, "group_ids"),
)
