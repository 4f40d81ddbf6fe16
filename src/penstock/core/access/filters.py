"""Which rules somebody means who asks for them or deletes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from penstock.core.access.words import ANY, MATCH, UNKNOWN, WILDCARD, Operation, PatternType, Permission, Resource
from penstock.core.wire.stored.cluster_metadata import AccessControlEntryRecord


class Filter(Protocol):
    """As requests say it: what is None or ANY is not looked at."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def matching(asked: Filter, entries: Iterable[AccessControlEntryRecord]) -> Iterator[AccessControlEntryRecord]:
    return (entry for entry in entries if matches(asked, entry))


def says_unknown(asked: Filter) -> bool:
    """Whether it has a number that means nothing."""
    return (
        (asked.pattern_type_filter != MATCH and is_unknown(PatternType, asked.pattern_type_filter))
        or is_unknown(Resource, asked.resource_type_filter)
        or is_unknown(Operation, asked.operation)
        or is_unknown(Permission, asked.permission_type)
    )


def is_unknown(kind: type[Operation | Resource | PatternType | Permission], number: int) -> bool:
    return number != ANY and number not in kind.__members__.values()


def is_malformed(asked: Filter) -> bool:
    """Whether it says UNKNOWN in so many words, which no client may."""
    return UNKNOWN in (
        asked.pattern_type_filter,
        asked.resource_type_filter,
        asked.operation,
        asked.permission_type,
    )


def matches(asked: Filter, entry: AccessControlEntryRecord) -> bool:
    return (
        asked.resource_type_filter in (ANY, entry.resource_type)
        and asked.principal_filter in (None, entry.principal)
        and asked.host_filter in (None, entry.host)
        and asked.operation in (ANY, entry.operation)
        and asked.permission_type in (ANY, entry.permission_type)
        and _matches_pattern(asked.pattern_type_filter, asked.resource_name_filter, entry)
    )


def _matches_pattern(pattern_type: int, name: str | None, entry: AccessControlEntryRecord) -> bool:
    if pattern_type not in (ANY, MATCH, entry.pattern_type):
        return False
    if name is None:
        return True
    if pattern_type != MATCH:
        return name == entry.resource_name
    if entry.pattern_type == PatternType.PREFIXED:
        return name.startswith(entry.resource_name)
    return entry.resource_name in (name, WILDCARD)
