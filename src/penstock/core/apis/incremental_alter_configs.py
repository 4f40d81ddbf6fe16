"""IncrementalAlterConfigs (44). Versions 0 and 1: set, delete, append to or subtract from single settings."""

from __future__ import annotations

from functools import partial

from penstock.core.apis.altering import Change, alter
from penstock.core.apis.forwarded import forwarded
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.configs import DELETE, SET, plan_increment
from penstock.core.metadata.image import BROKER_LOGGER_RESOURCE
from penstock.core.node.levels import LEVELS
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Api, Slot
from penstock.core.wire import Message
from penstock.core.wire.api.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.core.wire.schema import Response, StoredRecord


def handle(node: Node, request: IncrementalAlterConfigsRequest, slot: Slot) -> Answer:
    """Log levels are the affair of the node that is asked, everything else the controller's."""
    levels = [each for each in request.resources if each.resource_type == BROKER_LOGGER_RESOURCE]
    if node.quorum.leads or len(levels) == len(request.resources):
        return _alter(node, request, slot)
    if not levels:
        return forwarded(_alter)(node, request, slot)
    return _alter_both(node, request, slot, levels)


def _alter_both(
    node: Node, request: IncrementalAlterConfigsRequest, slot: Slot, levels: list[AlterConfigsResource]
) -> Answer:
    """The controller is told what concerns it; once it has answered, the log levels are changed here."""
    others = [each for each in request.resources if each.resource_type != BROKER_LOGGER_RESOURCE]
    part = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)
    own = IncrementalAlterConfigsRequest(resources=levels, validate_only=request.validate_only)

    def heard(answer: Response) -> None:
        mine = _alter(node, own, slot)
        assert isinstance(mine, IncrementalAlterConfigsResponse), "log levels are changed at once"
        assert isinstance(answer, IncrementalAlterConfigsResponse), "an API has one kind of answer"
        slot.reply(IncrementalAlterConfigsResponse(responses=[*answer.responses, *mine.responses]))

    def here() -> None:
        answer = _alter(node, request, slot)
        if isinstance(answer, Message):
            slot.reply(answer)

    node.cluster.forwarding.ask(part, slot, heard, here)
    return PENDING


def _alter(node: Node, request: IncrementalAlterConfigsRequest, slot: Slot) -> Answer:
    results = [
        AlterConfigsResourceResponse(
            error_code=0, error_message=None, resource_type=each.resource_type, resource_name=each.resource_name
        )
        for each in request.resources
    ]
    changes: list[Change] = [
        (partial(_plan, node, each, request.validate_only), result)
        for each, result in zip(request.resources, results, strict=True)
    ]
    return alter(node, slot, changes, request.validate_only, IncrementalAlterConfigsResponse(responses=results))


def _plan(node: Node, resource: AlterConfigsResource, validate_only: bool) -> list[StoredRecord]:
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        _alter_levels(node, resource, validate_only)
        return []
    operations = [(each.config_operation, each.name, each.value) for each in resource.configs]
    return plan_increment(node.quorum.latest, node.settings, resource.resource_type, resource.resource_name, operations)


def _alter_levels(node: Node, resource: AlterConfigsResource, validate_only: bool) -> None:
    """Log levels live in this process only, as in Kafka: a restart forgets them."""
    if resource.resource_name != str(node.node_id):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"This is broker {node.node_id}, not {resource.resource_name!r}.")
    for each in resource.configs:
        if each.name not in node.log_levels:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"There is no logger {each.name!r}.")
        if each.config_operation not in (SET, DELETE):
            raise ApiError(ErrorCode.INVALID_REQUEST, "A log level can be set or deleted only.")
        if each.config_operation == SET and each.value not in LEVELS:
            raise ApiError(
                ErrorCode.INVALID_CONFIG, f"{each.value!r} is not a log level; use one of {', '.join(LEVELS)}."
            )
    if not validate_only:
        for each in resource.configs:
            node.set_log_level(each.name, each.value if each.config_operation == SET else None)


API = Api(IncrementalAlterConfigsRequest, range(2), handle)
