"""FindCoordinator (10). Version 1 has key types, 4 asks for many keys at once, 6 knows share groups.

The first question creates `__consumer_offsets`; it is answered once the topic is there.
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.routing import partition_for_group
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.node.coordinators import OFFSETS_TOPIC
from penstock.core.node.internal_topics import create_missing
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Api, Slot
from penstock.core.wire.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

GROUP = 0
TRANSACTION = 1


def handle(node: Node, request: FindCoordinatorRequest, slot: Slot) -> Answer:
    if request.key_type != GROUP or node.image.topic(OFFSETS_TOPIC) is not None:
        return _respond(node, request, slot)

    def created(code: ErrorCode) -> None:
        slot.reply(_respond(node, request, slot))

    create_missing(node, [OFFSETS_TOPIC], created)
    return PENDING


def _respond(node: Node, request: FindCoordinatorRequest, slot: Slot) -> FindCoordinatorResponse:
    if slot.version >= 4:
        return FindCoordinatorResponse(
            coordinators=[_locate(node, request.key_type, key, slot) for key in request.coordinator_keys]
        )
    found = _locate(node, request.key_type, request.key, slot)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _locate(node: Node, key_type: int, key: str, slot: Slot) -> Coordinator:
    if key_type == TRANSACTION:
        return _nobody(node, key, ErrorCode.INVALID_REQUEST, "This version has no transactions.")
    if key_type != GROUP:
        return _nobody(node, key, ErrorCode.INVALID_REQUEST, f"Coordinators of type {key_type} are not known here.")
    leader = _leader_for(node, key)
    point = None if leader is None or leader.fenced else leader.endpoint(slot.connection.listener)
    if leader is None or point is None:
        return _nobody(node, key, ErrorCode.COORDINATOR_NOT_AVAILABLE, None)
    return Coordinator(key=key, node_id=leader.id, host=point.host, port=point.port, error_code=0, error_message=None)


def _leader_for(node: Node, group_id: str) -> BrokerImage | None:
    """Who leads the partition of `__consumer_offsets` that a group belongs to."""
    topic = node.image.topic(OFFSETS_TOPIC)
    return None if topic is None else node.image.brokers.get(topic.leaders[partition_for_group(group_id, len(topic))])


def _nobody(node: Node, key: str, code: ErrorCode, message: str | None) -> Coordinator:
    node.error("FindCoordinator", code)
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)


API = Api(FindCoordinatorRequest, range(7), handle)
