"""The access rules of a cluster: who may do what with which things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.core.access.words import ANY, Operation, PatternType, Permission, Resource
from penstock.core.wire.api.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from penstock.core.wire.api.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from penstock.core.wire.api.describe_acls import DescribeAclsRequest, DescribeAclsResponse

RULES_PER_REQUEST_MAX: Final = 1_000


class Rule(NamedTuple):
    """One of them."""

    principal: str
    permission: Permission
    operation: Operation
    resource: Resource
    name: str
    pattern: PatternType
    host: str

    @property
    def text(self) -> str:
        """For people."""
        of = "names that begin with " if self.pattern is PatternType.PREFIXED else ""
        what = f"{self.operation.name} {self.resource.name} {of}{self.name!r}"
        return f"{self.permission.name} {self.principal} {what} from {self.host}"


class Filter(NamedTuple):
    """Which rules are meant: None is any. `pattern` may also be MATCH, which finds all that apply to a name."""

    principal: str | None = None
    permission: Permission | None = None
    operation: Operation | None = None
    resource: Resource | None = None
    name: str | None = None
    pattern: int = ANY
    host: str | None = None

    def fields(self) -> dict[str, Any]:
        """In the protocol's names."""
        return {
            "resource_type_filter": ANY if self.resource is None else self.resource,
            "resource_name_filter": self.name,
            "pattern_type_filter": self.pattern,
            "principal_filter": self.principal,
            "host_filter": self.host,
            "operation": ANY if self.operation is None else self.operation,
            "permission_type": ANY if self.permission is None else self.permission,
        }


class Acls:
    """What is asked of the rules."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def find(self, wanted: Filter) -> list[Rule]:
        request = DescribeAclsRequest(**wanted.fields())

        def attempt() -> DescribeAclsResponse:
            answer = self._client.ask(request, DescribeAclsResponse)
            check(answer.error_code, "the access rules", answer.error_message)
            return answer

        return sorted(
            _rule(each, rule, each.resource_name)
            for each in self._client.retry(attempt).resources
            for rule in each.acls
        )

    def add(self, rules: Iterable[Rule]) -> None:
        """Those that are there already stay."""
        wanted = list(rules)
        for first in range(0, len(wanted), RULES_PER_REQUEST_MAX):
            self._add(wanted[first : first + RULES_PER_REQUEST_MAX])

    def _add(self, rules: list[Rule]) -> None:
        request = CreateAclsRequest(creations=[_creation(each) for each in rules])

        def attempt() -> None:
            answer = self._client.ask(request, CreateAclsResponse)
            for rule, result in zip(rules, answer.results, strict=True):
                check(result.error_code, rule.text, result.error_message)

        self._client.retry(attempt)

    def remove(self, wanted: Filter) -> list[Rule]:
        """Gives those that are gone."""
        request = DeleteAclsRequest(filters=[DeleteAclsFilter(**wanted.fields())])

        def attempt() -> DeleteAclsResponse:
            answer = self._client.ask(request, DeleteAclsResponse)
            for result in answer.filter_results:
                check(result.error_code, "the access rules", result.error_message)
            return answer

        (result,) = self._client.retry(attempt).filter_results
        return sorted(_rule(each, each, each.resource_name) for each in result.matching_acls)


def _creation(rule: Rule) -> AclCreation:
    return AclCreation(
        resource_type=rule.resource,
        resource_name=rule.name,
        resource_pattern_type=rule.pattern,
        principal=rule.principal,
        host=rule.host,
        operation=rule.operation,
        permission_type=rule.permission,
    )


def _rule(about: Any, rule: Any, name: str) -> Rule:
    """What both kinds of answers say alike."""
    return Rule(
        rule.principal,
        Permission(rule.permission_type),
        Operation(rule.operation),
        Resource(about.resource_type),
        name,
        PatternType(about.pattern_type),
        rule.host,
    )
