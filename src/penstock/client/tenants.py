"""Tenants: an entry in the cluster's settings, and a user with rules and quotas for what begins with its prefix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from penstock.client.acls import Acls, Filter, Rule
from penstock.client.admin import BROKER, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.quotas import alter_quotas, quotas
from penstock.client.users import delete_user, set_password, users
from penstock.core.access.words import Operation, PatternType, Permission, Resource
from penstock.core.base.mechanisms import SCRAM_NUMBERS
from penstock.core.base.quotas import USER, QuotaEntity
from penstock.core.base.settings.tenants import Tenant, tenants_of
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

SETTING: Final = "penstock.tenants"
ANYWHERE: Final = "*"
APPEND, SUBTRACT = 2, 3
RIGHTS: Final[Mapping[Resource, tuple[Operation, ...]]] = {
    Resource.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    Resource.GROUP: (Operation.READ, Operation.DELETE),
    Resource.TRANSACTIONAL_ID: (Operation.WRITE,),
}
"""What a tenant may do with whatever begins with its prefix; to look at it is implied."""


class Usage(NamedTuple):
    """A tenant, and what it has of what it may have."""

    tenant: Tenant
    topics: int
    partitions: int
    quotas: Mapping[str, float]
    has_user: bool


def principal_of(tenant: Tenant) -> str:
    return f"User:{tenant.name}"


def tenants(client: Client) -> list[Tenant]:
    found = [each.value for each in Admin(client).describe_configs(BROKER, "", [SETTING]) if each.name == SETTING]
    return sorted(tenants_of(text for value in found if value for text in value.split(",")))


def usage(client: Client, tenant: Tenant) -> Usage:
    counts = [len(topic.partitions) for topic in client.topics() if topic.name.startswith(tenant.prefix)]
    held = next((each.values for each in quotas(client) if each.entity == _entity(tenant)), {})
    return Usage(tenant, len(counts), sum(counts), held, tenant.name in users(client, tenant.name))


def create(client: Client, tenant: Tenant, limits: Mapping[str, float], password: str) -> None:
    """All of it; where the rules are refused, nothing."""
    _change(client, tenant, APPEND)
    try:
        Acls(client).add(rules_of(tenant))
    except ClientError:
        _change(client, tenant, SUBTRACT)
        raise
    if limits:
        alter_quotas(client, _entity(tenant), limits)
    set_password(client, tenant.name, password, SCRAM_NUMBERS)


def replace(client: Client, before: Tenant, after: Tenant) -> None:
    """Another number of partitions for the same name and prefix; both together would be refused."""
    _change(client, before, SUBTRACT)
    _change(client, after, APPEND)


def delete(client: Client, tenant: Tenant) -> None:
    """Who it was may do nothing more; its topics stay."""
    if mechanisms := users(client, tenant.name).get(tenant.name):
        delete_user(client, tenant.name, mechanisms)
    held = usage(client, tenant).quotas
    if held:
        alter_quotas(client, _entity(tenant), dict.fromkeys(held))
    for rule in rules_of(tenant):
        wanted = Filter(rule.principal, rule.permission, rule.operation, rule.resource, rule.name, rule.pattern)
        Acls(client).remove(wanted)
    _change(client, tenant, SUBTRACT)


def rules_of(tenant: Tenant) -> Iterator[Rule]:
    for resource, operations in RIGHTS.items():
        for operation in operations:
            yield Rule(
                principal_of(tenant),
                Permission.ALLOW,
                operation,
                resource,
                tenant.prefix,
                PatternType.PREFIXED,
                ANYWHERE,
            )


def _entity(tenant: Tenant) -> QuotaEntity:
    return ((USER, tenant.name),)


def _change(client: Client, tenant: Tenant, how: int) -> None:
    """Add it to the list, or take it out, whatever others do to the list meanwhile."""
    change = AlterableConfig(name=SETTING, config_operation=how, value=tenant.text)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[change])

    def attempt() -> None:
        request = IncrementalAlterConfigsRequest(resources=[resource])
        (result,) = client.ask(request, IncrementalAlterConfigsResponse, node=client.controller()).responses
        check(result.error_code, f"tenant {tenant.name}", result.error_message)

    client.retry(attempt)
