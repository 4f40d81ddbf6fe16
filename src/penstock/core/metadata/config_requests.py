"""AlterConfigs and IncrementalAlterConfigs as plans: each resource stands or falls alone, what may be is one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.configs import plan_increment, plan_replacement
from penstock.core.metadata.image import BROKER_LOGGER_RESOURCE, Image
from penstock.core.wire.api import alter_configs, incremental_alter_configs
from penstock.core.wire.api.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from penstock.core.wire.api.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.core.wire.schema import StoredRecord


class Outcome(Protocol):
    """The part of a response that speaks of one resource."""

    error_code: int
    error_message: str | None


def plan_replacements(
    image: Image, settings: BrokerSettings, request: AlterConfigsRequest
) -> tuple[list[StoredRecord], AlterConfigsResponse]:
    """Replace all settings of each resource."""

    def plan(resource: alter_configs.AlterConfigsResource) -> list[StoredRecord]:
        if resource.resource_type == BROKER_LOGGER_RESOURCE:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Log levels are changed with IncrementalAlterConfigs only.")
        configs = {each.name: each.value for each in resource.configs}
        if len(configs) < len(resource.configs):
            raise ApiError(ErrorCode.INVALID_REQUEST, "A setting is given more than once.")
        return plan_replacement(image, settings, resource.resource_type, resource.resource_name, configs)

    records, outcomes = plan_each(request.resources, plan, alter_configs.AlterConfigsResourceResponse)
    return [] if request.validate_only else records, AlterConfigsResponse(responses=outcomes)


def plan_increments(
    image: Image, settings: BrokerSettings, request: IncrementalAlterConfigsRequest
) -> tuple[list[StoredRecord], IncrementalAlterConfigsResponse]:
    """Change single settings of each resource."""

    def plan(resource: incremental_alter_configs.AlterConfigsResource) -> list[StoredRecord]:
        operations = [(each.config_operation, each.name, each.value) for each in resource.configs]
        return plan_increment(image, settings, resource.resource_type, resource.resource_name, operations)

    outcome = incremental_alter_configs.AlterConfigsResourceResponse
    records, outcomes = plan_each(request.resources, plan, outcome)
    return [] if request.validate_only else records, IncrementalAlterConfigsResponse(responses=outcomes)


def plan_each(
    resources: list[Any], plan: Callable[[Any], list[StoredRecord]], outcome: Callable[..., Outcome]
) -> tuple[list[StoredRecord], list[Any]]:
    """Plan every change, and say of each what became of it."""
    records: list[StoredRecord] = []
    outcomes: list[Outcome] = []
    times = Counter((each.resource_type, each.resource_name) for each in resources)
    for each in resources:
        result = outcome(
            error_code=0, error_message=None, resource_type=each.resource_type, resource_name=each.resource_name
        )
        outcomes.append(result)
        try:
            if times[each.resource_type, each.resource_name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource may be named once.")
            records += plan(each)
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
    return records, outcomes
