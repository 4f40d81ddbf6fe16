"""DescribeCluster (60). Version 1 can ask for controllers, on their listeners; 2 for fenced brokers."""

from __future__ import annotations

from penstock.core.apis.rights import cluster_operations
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS = 1
CONTROLLERS = 2


def handle(node: Node, request: DescribeClusterRequest, slot: Slot) -> Answer:
    here = CONTROLLERS if slot.context.listener in node.controller_listeners else BROKERS
    asked = request.endpoint_type if slot.version >= 1 else BROKERS
    if asked != here:
        return _mismatched(node, asked, here)
    response = _controllers(node, slot) if here == CONTROLLERS else _brokers(node, request, slot)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(node, slot)
    return response


def _mismatched(node: Node, asked: int, here: int) -> DescribeClusterResponse:
    is_known = asked in (BROKERS, CONTROLLERS)
    code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    whose, others = ("controller", "broker") if here == CONTROLLERS else ("broker", "controller")
    return DescribeClusterResponse(
        error_code=node.error("DescribeCluster", code),
        error_message=f"This is a {whose}'s listener; ask a {others}'s about {others}s.",
        endpoint_type=here,
        cluster_id="",
    )


def _controllers(node: Node, slot: Slot) -> DescribeClusterResponse:
    """Those that have introduced themselves; a node that stands alone knows its own address only."""
    found = [
        (controller.id, point.host, point.port)
        for controller in node.image.controllers.values()
        for point in controller.endpoints
        if point.name == slot.context.listener
    ]
    leader, address = node.quorum.leader_id, node.quorum.leader_address
    if not found and leader is not None and address is not None:
        found = [(leader, *address)]
    return DescribeClusterResponse(
        error_code=0,
        endpoint_type=CONTROLLERS,
        cluster_id=node.meta.cluster_id,
        controller_id=-1 if leader is None else leader,
        brokers=[DescribeClusterBroker(broker_id=each, host=host, port=port) for each, host, port in found],
    )


def _brokers(node: Node, request: DescribeClusterRequest, slot: Slot) -> DescribeClusterResponse:
    found = [(broker, broker.endpoint(slot.context.listener)) for broker in node.image.brokers.values()]
    return DescribeClusterResponse(
        error_code=0,
        endpoint_type=BROKERS,
        cluster_id=node.meta.cluster_id,
        controller_id=node.node_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.id, host=point.host, port=point.port, rack=broker.rack, is_fenced=broker.fenced
            )
            for broker, point in found
            if point is not None and (not broker.fenced or request.include_fenced_brokers)
        ],
    )


API = Api(DescribeClusterRequest, range(3), handle, NOTHING)
