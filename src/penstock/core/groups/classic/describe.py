"""DescribeGroups, versions 0 to 6, and the classic groups' part of ListGroups, versions 0 to 5.

DescribeGroups 3 adds authorised operations, which the caller fills in; 4 adds instance ids; from 6 on a group that does
not exist is an error and no longer a dead group. ListGroups 4 filters by state, 5 by kind.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.states import State
from penstock.core.wire.api.describe_groups import DescribedGroup, DescribedGroupMember
from penstock.core.wire.api.list_groups import ListedGroup, ListGroupsRequest

MISSING_IS_ERROR_FROM = 6


def describe(group_id: str, group: ClassicGroup | None, version: int) -> DescribedGroup:
    if group is None:
        return _described_missing(group_id, version)
    protocol = group.protocol if group.state is State.STABLE else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[_described_member(member, protocol) for member in group.members.values()],
    )


def listed(groups: Iterable[ClassicGroup], request: ListGroupsRequest) -> list[ListedGroup]:
    """The groups that the request's filters let through; an empty filter lets everything through."""
    states = {state.strip().lower() for state in request.states_filter}
    kinds = {kind.lower() for kind in request.types_filter}
    return [
        _listed(group)
        for group in groups
        if (not states or group.state.value.lower() in states) and (not kinds or group.kind in kinds)
    ]


def _listed(group: ClassicGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=group.kind,
    )


def _described_missing(group_id: str, version: int) -> DescribedGroup:
    missing = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
    if version >= MISSING_IS_ERROR_FROM:
        missing.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        missing.error_message = f"Group {group_id} not found."
    return missing


def _described_member(member: Member, protocol: str | None) -> DescribedGroupMember:
    """Metadata is told for a stable group only: before that, no protocol is chosen."""
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=member.assignment,
    )
