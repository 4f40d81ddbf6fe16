"""DescribeCluster (60). Version 1 can ask for controllers, 2 for fenced brokers."""

from __future__ import annotations

from penstock.core.apis.operations import CLUSTER_OPERATIONS
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS = 1
CONTROLLERS = 2


def handle(node: Node, request: DescribeClusterRequest, slot: Slot) -> Answer:
    if slot.version >= 1 and request.endpoint_type != BROKERS:
        is_known = request.endpoint_type == CONTROLLERS
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        return DescribeClusterResponse(
            error_code=node.error("DescribeCluster", code),
            error_message="This is a broker's listener; ask a controller's about controllers.",
            endpoint_type=BROKERS,
            cluster_id="",
        )
    found = [(broker, broker.endpoint(slot.connection.listener)) for broker in node.image.brokers.values()]
    response = DescribeClusterResponse(
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
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


API = Api(DescribeClusterRequest, range(3), handle)
