"""DescribeConfigs (32). Versions 1 to 4: settings of topics, brokers, groups and loggers, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import (
    Described,
    Source,
    describe_broker,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from penstock.core.metadata.image import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from penstock.core.metadata.topics import check_topic_name
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

STRING_TYPE = 2


def handle(node: Node, request: DescribeConfigsRequest, slot: Slot) -> Answer:
    return DescribeConfigsResponse(results=[_describe(node, request, resource) for resource in request.resources])


def _describe(node: Node, request: DescribeConfigsRequest, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_code=0,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )
    try:
        found = _settings_of(node, resource.resource_type, resource.resource_name)
    except ApiError as error:
        result.error_code = node.error("DescribeConfigs", error.code)
        result.error_message = error.message
        return result
    wanted = resource.configuration_keys
    result.configs = [_entry(request, each) for each in found if not wanted or each.name in wanted]
    return result


def _settings_of(node: Node, resource_type: int, name: str) -> Iterable[Described]:
    image = node.image
    if resource_type == TOPIC_RESOURCE:
        check_topic_name(name)
        if image.topic(name) is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return describe_topic(node.settings, image.config(TOPIC_RESOURCE, name))
    if resource_type == BROKER_RESOURCE:
        if name == "":
            return describe_cluster_default(node.settings)
        _check_this_node(node, name)
        return describe_broker(node.settings)
    if resource_type == GROUP_RESOURCE:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "There are no settings for all groups; name one.")
        return describe_group(node.settings, image.config(GROUP_RESOURCE, name))
    if resource_type == BROKER_LOGGER_RESOURCE:
        _check_this_node(node, name)
        return [_logger(each, level) for each, level in sorted(node.log_levels.items())]
    raise ApiError(ErrorCode.INVALID_REQUEST, f"Resources of type {resource_type} have no settings here.")


def _check_this_node(node: Node, name: str) -> None:
    if name != str(node.node_id):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"This is broker {node.node_id}; ask broker {name!r} about itself.")


def _logger(name: str, level: str) -> Described:
    return Described(name, level, Source.DYNAMIC_BROKER_LOGGER, (), False, False, STRING_TYPE, None)


def _entry(request: DescribeConfigsRequest, each: Described) -> DescribeConfigsResourceResult:
    synonyms = each.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=each.name,
        value=each.value,
        read_only=each.read_only,
        config_source=each.source,
        is_sensitive=each.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in synonyms
        ],
        config_type=each.config_type,
        documentation=each.documentation if request.include_documentation else None,
    )


API = Api(DescribeConfigsRequest, range(1, 5), handle)
