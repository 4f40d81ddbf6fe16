"""The standard authorizer as its documentation tells it, rule by rule, without any index: the naive twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.core.access.words import Operation, PatternType, Permission, Resource
from penstock.core.wire.stored.cluster_metadata import AccessControlEntryRecord

BRINGS_DESCRIBE: Final = (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)


def allows(
    rules: Sequence[AccessControlEntryRecord],
    super_users: frozenset[str],
    without_rules: bool,
    principal: str,
    host: str,
    operation: Operation,
    resource: Resource,
    name: str,
) -> bool:
    if principal in super_users:
        return True
    about_it = [rule for rule in rules if rule.resource_type == resource and stands_for(rule, name)]
    applying = [rule for rule in about_it if rule.principal in (principal, "User:*") and rule.host in ("*", host)]
    if any(rule.permission_type == Permission.DENY and says(rule, operation) for rule in applying):
        return False
    if any(rule.permission_type == Permission.ALLOW and brings(rule, operation) for rule in applying):
        return True
    return without_rules and not about_it


def stands_for(rule: AccessControlEntryRecord, name: str) -> bool:
    if rule.pattern_type == PatternType.PREFIXED:
        return name.startswith(rule.resource_name)
    return rule.resource_name in ("*", name)


def says(rule: AccessControlEntryRecord, operation: Operation) -> bool:
    return rule.operation in (operation, Operation.ALL)


def brings(rule: AccessControlEntryRecord, operation: Operation) -> bool:
    if operation is Operation.DESCRIBE and rule.operation in BRINGS_DESCRIBE:
        return True
    if operation is Operation.DESCRIBE_CONFIGS and rule.operation == Operation.ALTER_CONFIGS:
        return True
    return says(rule, operation)
