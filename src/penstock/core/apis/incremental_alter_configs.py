"""IncrementalAlterConfigs (44). Versions 0 and 1: set, delete, append to or subtract from single settings."""

from __future__ import annotations

from penstock.core.apis.alter_configs import ALTER, MAY_ALTER
from penstock.core.apis.places import by_controller, count_errors
from penstock.core.apis.rights import may
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.config_requests import plan_each, plan_increments
from penstock.core.metadata.configs import DELETE, SET
from penstock.core.metadata.image import BROKER_LOGGER_RESOURCE
from penstock.core.node.controller.draining import heeding_drains
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.node import Node
from penstock.core.node.observing.levels import LEVELS
from penstock.core.node.serving.access import Operation, Resource
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.core.wire.schema import Response, StoredRecord


def plan(term: Term, request: IncrementalAlterConfigsRequest, version: int) -> Planned:
    return plan_increments(term.image, term.settings, request)


_DECIDED = by_controller(heeding_drains(plan))


def handle(node: Node, request: IncrementalAlterConfigsRequest, slot: Slot) -> Answer:
    """Log levels are the affair of the node that is asked, everything else the controller's. The controller is told
    what concerns it; once it has answered, the log levels are changed here."""
    levels = [each for each in request.resources if each.resource_type == BROKER_LOGGER_RESOURCE]
    if not levels:
        return _DECIDED.handle(node, request, slot)
    own = IncrementalAlterConfigsRequest(resources=levels, validate_only=request.validate_only)
    if len(levels) == len(request.resources):
        return _alter_levels(node, own, slot)
    others = [each for each in request.resources if each.resource_type != BROKER_LOGGER_RESOURCE]
    part = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)

    def heard(answer: Response) -> None:
        assert isinstance(answer, IncrementalAlterConfigsResponse), "an API has one kind of answer"
        mine = _alter_levels(node, own, slot)
        slot.reply(IncrementalAlterConfigsResponse(responses=[*answer.responses, *mine.responses]))

    def here() -> None:
        refused = node.dispatcher.authorize(part, slot)
        if isinstance(refused, Response):
            heard(refused)
        else:
            node.cluster.controller.handle(part, slot.version, heard)

    if node.cluster.controller.is_active:
        here()
    else:
        node.cluster.forwarding.ask(part, slot, heard, here)
    return PENDING


def _alter_levels(node: Node, request: IncrementalAlterConfigsRequest, slot: Slot) -> IncrementalAlterConfigsResponse:
    """Log levels live in this process only, as in Kafka: a restart forgets them."""

    def alter(resource: AlterConfigsResource) -> list[StoredRecord]:
        if not may(node, slot, Operation.ALTER_CONFIGS, Resource.CLUSTER):
            raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        _check_levels(node, resource)
        if not request.validate_only:
            for each in resource.configs:
                node.set_log_level(each.name, each.value if each.config_operation == SET else None)
        return []

    _, outcomes = plan_each(request.resources, alter, AlterConfigsResourceResponse)
    response = IncrementalAlterConfigsResponse(responses=outcomes)
    count_errors(node, slot, response)
    return response


def _check_levels(node: Node, resource: AlterConfigsResource) -> None:
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


API = Api(IncrementalAlterConfigsRequest, range(2), _DECIDED._replace(handle=handle), ALTER, authorize=MAY_ALTER)
