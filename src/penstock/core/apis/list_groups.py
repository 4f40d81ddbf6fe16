"""ListGroups (16). Versions 0 to 5: 4 filters by state, 5 by type."""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards_in_turn
from penstock.core.apis.places import by_coordinator
from penstock.core.groups.fanout import merge_list_groups
from penstock.core.node.coordination.groups import list_groups
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from penstock.core.wire.schema import Response


def handle(node: Node, request: ListGroupsRequest, slot: Slot) -> Answer:
    return ask_shards_in_turn(
        node,
        slot,
        request,
        lambda host, reply: list_groups(host, request, reply),
        lambda parts: merge_list_groups(parts),  # type: ignore[arg-type]  # each part answers its own API
    )


def authorize(question: Question) -> Response | None:
    """Whoever may not look at the cluster is told of the groups that he may look at."""

    def leave_out(answer: ListGroupsResponse) -> None:
        answer.groups = [
            each for each in answer.groups if question.may(Operation.DESCRIBE, Resource.GROUP, each.group_id)
        ]

    if not question.may(Operation.DESCRIBE, Resource.CLUSTER):
        question.after.append(leave_out)
    return None


DESCRIBE = Touches(Operation.DESCRIBE, Resource.GROUP, unless=Touches(Operation.DESCRIBE, Resource.CLUSTER))
API = Api(ListGroupsRequest, range(6), by_coordinator(handle), (DESCRIBE,), authorize=authorize)
