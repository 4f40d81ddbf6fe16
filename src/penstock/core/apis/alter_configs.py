"""AlterConfigs (33). Versions 0 to 2: replace all settings of a resource; what is not named becomes its default."""

from __future__ import annotations

from functools import partial

from penstock.core.apis.altering import Change, alter
from penstock.core.apis.forwarded import forwarded
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.configs import plan_replacement
from penstock.core.metadata.image import BROKER_LOGGER_RESOURCE
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from penstock.core.wire.schema import StoredRecord


def handle(node: Node, request: AlterConfigsRequest, slot: Slot) -> Answer:
    results = [
        AlterConfigsResourceResponse(
            error_code=0, error_message=None, resource_type=each.resource_type, resource_name=each.resource_name
        )
        for each in request.resources
    ]
    changes: list[Change] = [
        (partial(_plan, node, each), result) for each, result in zip(request.resources, results, strict=True)
    ]
    return alter(node, slot, changes, request.validate_only, AlterConfigsResponse(responses=results))


def _plan(node: Node, resource: AlterConfigsResource) -> list[StoredRecord]:
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Log levels are changed with IncrementalAlterConfigs only.")
    configs = {each.name: each.value for each in resource.configs}
    if len(configs) < len(resource.configs):
        raise ApiError(ErrorCode.INVALID_REQUEST, "A setting is given more than once.")
    return plan_replacement(node.quorum.latest, node.settings, resource.resource_type, resource.resource_name, configs)


API = Api(AlterConfigsRequest, range(3), forwarded(handle))
