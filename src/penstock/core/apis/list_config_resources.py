"""ListConfigResources (74). Version 0 lists client metrics only, 1 any type of resource."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

TYPES = (TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)


def handle(node: Node, request: ListConfigResourcesRequest, slot: Slot) -> Answer:
    wanted = request.resource_types if slot.version >= 1 else [CLIENT_METRICS_RESOURCE]
    if any(each not in TYPES for each in wanted):
        code = node.error("ListConfigResources", ErrorCode.UNSUPPORTED_VERSION)
        return ListConfigResourcesResponse(error_code=code)
    return ListConfigResourcesResponse(
        error_code=0,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=each)
            for each in sorted(set(wanted or TYPES))
            for name in _names(node, each)
        ],
    )


def _names(node: Node, resource_type: int) -> list[str]:
    image = node.image
    if resource_type == TOPIC_RESOURCE:
        return sorted(image.topics)
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return [str(broker) for broker in sorted(image.brokers)]
    prefix = f"{resource_type}/"
    return sorted(key.removeprefix(prefix) for key in image.configs if key.startswith(prefix))


API = Api(ListConfigResourcesRequest, range(2), handle, on_cluster(Operation.DESCRIBE_CONFIGS))
