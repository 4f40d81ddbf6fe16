"""Settings with all that a broker says of them: what they are for, their default, and who set them."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.core.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)

_SOURCES: Final = {
    1: "this topic",
    2: "this broker",
    3: "all brokers",
    4: "the broker's file",
    5: "default",
    6: "broker logger",
    7: "client metrics",
    8: "this group",
}
_OWN: Final = frozenset({1, 2, 3, 7, 8})
_DEFAULT: Final = 5


class Described(NamedTuple):
    name: str
    value: str | None
    source: str
    is_own: bool
    """Whether it was set, and can be unset, at this very place."""
    is_read_only: bool
    is_sensitive: bool
    default: str | None
    doc: str


def described(client: Client, kind: int, name: str, node: int | None = None) -> list[Described]:
    """By name."""
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
    (result,) = client.retry(lambda: client.ask(request, DescribeConfigsResponse, node=node)).results
    check(result.error_code, name, result.error_message)
    return sorted(map(_described, result.configs))


def _described(one: DescribeConfigsResourceResult) -> Described:
    defaults = [each.value for each in one.synonyms if each.source == _DEFAULT]
    if one.config_source == _DEFAULT:
        defaults.append(one.value)
    return Described(
        one.name,
        one.value,
        _SOURCES.get(one.config_source, "unknown"),
        one.config_source in _OWN,
        one.read_only,
        one.is_sensitive,
        defaults[-1] if defaults else None,
        one.documentation or "",
    )
