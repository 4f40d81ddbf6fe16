"""CreateAcls and DeleteAcls as plans, and DescribeAcls: rules and a request give records and an answer.

Looking at every rule for every filter may take longer than a turn, so whatever does that pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Final

from penstock.core.access.decisions import Rules
from penstock.core.access.filters import is_unknown, matches, matching, says_unknown
from penstock.core.access.words import ANY, CLUSTER_NAME, Operation, PatternType, Permission, Resource
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.base.steps import Turns
from penstock.core.wire.api.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from penstock.core.wire.api.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from penstock.core.wire.api.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import AccessControlEntryRecord

RECORDS_PER_REQUEST_MAX: Final = 10_000
RULES_PER_TURN_MAX: Final = 5_000
"""Rules that are looked at within one turn: about two milliseconds."""

Entries = Mapping[bytes, AccessControlEntryRecord]
Rule = tuple[int, str, int, str, str, int, int]
"""What makes two entries the same rule."""
Deleted = tuple[list[bytes], DeleteAclsResponse]


def plan_creations(
    rules: Rules, request: CreateAclsRequest, new_id: Callable[[], bytes]
) -> tuple[list[StoredRecord], CreateAclsResponse]:
    """Each stands or falls alone; what is there already is there."""
    added: dict[Rule, StoredRecord] = {}
    results: list[AclCreationResult] = []
    for asked in request.creations:
        try:
            _check(asked)
        except ApiError as error:
            results.append(AclCreationResult(error_code=error.code, error_message=error.message))
            continue
        results.append(AclCreationResult())
        entry = _entry(asked, new_id)
        rule = _rule_of(entry)
        if rule not in added and not _is_there(rules, entry):
            added[rule] = entry
    _check_count(added, "created")
    return list(added.values()), CreateAclsResponse(results=results)


def planning_deletions(entries: Entries, request: DeleteAclsRequest) -> Steps[Deleted]:
    """All that a filter matches, by their ids; what several match is told to each, and removed once."""
    gone: dict[bytes, None] = {}
    results: list[DeleteAclsFilterResult] = []
    turns = Turns(RULES_PER_TURN_MAX)
    for asked in request.filters:
        if says_unknown(asked):
            message = "A filter has a number that means nothing."
            results.append(DeleteAclsFilterResult(error_code=ErrorCode.INVALID_REQUEST, error_message=message))
            continue
        yield from turns.spend(len(entries))
        found = list(matching(asked, entries.values()))
        gone.update(dict.fromkeys(entry.id for entry in found))
        results.append(DeleteAclsFilterResult(error_message=None, matching_acls=[_deleted(entry) for entry in found]))
    _check_count(gone, "removed")
    return list(gone), DeleteAclsResponse(filter_results=results)


def describing(entries: Entries, request: DescribeAclsRequest) -> Steps[DescribeAclsResponse]:
    """What a filter matches, grouped by what it is about."""
    resources: dict[tuple[int, int, str], DescribeAclsResource] = {}
    turns = Turns(RULES_PER_TURN_MAX)
    for entry in entries.values():
        yield from turns.spend(1)
        if not matches(request, entry):
            continue
        key = (entry.resource_type, entry.pattern_type, entry.resource_name)
        resource = resources.get(key)
        if resource is None:
            resource = resources[key] = DescribeAclsResource(
                resource_type=entry.resource_type,
                resource_name=entry.resource_name,
                pattern_type=entry.pattern_type,
                acls=[],
            )
        resource.acls.append(
            AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission_type,
            )
        )
    return DescribeAclsResponse(resources=list(resources.values()))


def _check(asked: AclCreation) -> None:
    """What Kafka looks at, in its order."""
    if asked.resource_type == Resource.CLUSTER and asked.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name of a cluster is {CLUSTER_NAME}.")
    if not asked.resource_name:
        raise _invalid("The name of a resource must not be empty.")
    for what, kind, number in (
        ("type of resource", Resource, asked.resource_type),
        ("type of pattern", PatternType, asked.resource_pattern_type),
        ("operation", Operation, asked.operation),
        ("permission", Permission, asked.permission_type),
    ):
        if number == ANY or is_unknown(kind, number):
            raise _invalid(f"A rule cannot have the {what} {number}.")
    if ":" not in asked.principal:
        raise _invalid(f"{asked.principal!r} is no principal: write its type in front, as in User:alice.")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


def _check_count(records: Sized, verb: str) -> None:
    if len(records) > RECORDS_PER_REQUEST_MAX:
        raise _invalid(f"No more than {RECORDS_PER_REQUEST_MAX} rules can be {verb} at once.")


def _is_there(rules: Rules, entry: AccessControlEntryRecord) -> bool:
    pattern = (entry.resource_type, entry.pattern_type, entry.resource_name)
    of_principal = rules.get(pattern, {}).get(entry.principal, {})
    return any(_rule_of(each) == _rule_of(entry) for each in of_principal.values())


def _entry(asked: AclCreation, new_id: Callable[[], bytes]) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=new_id(),
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        pattern_type=asked.resource_pattern_type,
        principal=asked.principal,
        host=asked.host,
        operation=asked.operation,
        permission_type=asked.permission_type,
    )


def _rule_of(entry: AccessControlEntryRecord) -> Rule:
    return (
        entry.resource_type,
        entry.resource_name,
        entry.pattern_type,
        entry.principal,
        entry.host,
        entry.operation,
        entry.permission_type,
    )


def _deleted(entry: AccessControlEntryRecord) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        pattern_type=entry.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )
