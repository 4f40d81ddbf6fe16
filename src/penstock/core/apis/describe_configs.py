"""DescribeConfigs (32). Versions 1 to 4: settings of topics, brokers, groups and loggers, and where each comes from.

A resource that is named several times is described once, with what was asked for first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.apis.rights import of_settings
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.base.settings import (
    Described,
    Source,
    describe_broker,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from penstock.core.base.settings.describe import Origin
from penstock.core.base.steps import map_in_turns
from penstock.core.metadata import client_metrics
from penstock.core.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from penstock.core.metadata.topics import check_topic_name
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster, on_groups, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

STRING_TYPE, INT_TYPE, LIST_TYPE = 2, 3, 7
ELEMENTS_EACH = 40
"""About as many settings as a topic has."""
RESOURCES_PER_TURN_MAX = 10
"""This is about two milliseconds of work."""


def handle(node: Node, request: DescribeConfigsRequest, slot: Slot) -> Answer:
    wanted = {(each.resource_type, each.resource_name): each for each in reversed(request.resources)}
    resources = list(reversed(wanted.values()))
    slot.connection.charge(len(resources) * ELEMENTS_EACH)
    if len(resources) <= RESOURCES_PER_TURN_MAX:
        return DescribeConfigsResponse(results=[_describe(node, request, each) for each in resources])
    return _describe_many(node, request, resources)


def _describe_many(
    node: Node, request: DescribeConfigsRequest, resources: list[DescribeConfigsResource]
) -> Steps[DescribeConfigsResponse]:
    results = yield from map_in_turns(
        resources, lambda each: _describe(node, request, each), per_turn_max=RESOURCES_PER_TURN_MAX
    )
    return DescribeConfigsResponse(results=results)


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
    if resource_type == CLIENT_METRICS_RESOURCE:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "A subscription needs a name.")
        own = image.config(CLIENT_METRICS_RESOURCE, name)
        return [_of_subscription(key, own) for key in client_metrics.DEFAULTS]
    if resource_type == BROKER_LOGGER_RESOURCE:
        _check_this_node(node, name)
        return [_logger(each, level) for each, level in sorted(node.log_levels.items())]
    raise ApiError(ErrorCode.INVALID_REQUEST, f"Resources of type {resource_type} have no settings here.")


def _check_this_node(node: Node, name: str) -> None:
    if name != str(node.node_id):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"This is broker {node.node_id}; ask broker {name!r} about itself.")


def _of_subscription(key: str, own: Mapping[str, str]) -> Described:
    source = Source.CLIENT_METRICS if key in own else Source.DEFAULT
    synonyms = (Origin(key, own[key], source),) if key in own else ()
    kind = LIST_TYPE if key in client_metrics.LISTS else INT_TYPE
    return Described(key, own.get(key, client_metrics.DEFAULTS[key]), source, synonyms, False, False, kind, None)


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


API = Api(
    DescribeConfigsRequest,
    range(1, 5),
    handle,
    on_topics(Operation.DESCRIBE_CONFIGS, "resources.resource_name")
    + on_groups(Operation.DESCRIBE_CONFIGS, "resources.resource_name")
    + on_cluster(Operation.DESCRIBE_CONFIGS),
    authorize=of_settings(Operation.DESCRIBE_CONFIGS),
)
