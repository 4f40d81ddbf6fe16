"""DescribeGroups, versions 0 to 6, and a classic group's line in ListGroups, versions 0 to 5.

DescribeGroups 3 adds authorised operations, which the caller fills in; 4 adds instance ids; from 6 on a group that does
not exist, or is of another kind, is an error and no longer a dead group.
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.states import State
from penstock.core.groups.group import Group
from penstock.core.wire.api.describe_groups import DescribedGroup, DescribedGroupMember
from penstock.core.wire.api.list_groups import ListedGroup

MISSING_IS_ERROR_FROM = 6


def describe(group_id: str, group: Group | None, version: int) -> DescribedGroup:
    if not isinstance(group, ClassicGroup):
        return _not_described(group_id, group, version)
    protocol = group.protocol if group.state is State.STABLE else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[_described_member(member, protocol) for member in group.members.values()],
    )


def listed(group: ClassicGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=group.kind,
    )


def _not_described(group_id: str, group: Group | None, version: int) -> DescribedGroup:
    missing = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
    if version >= MISSING_IS_ERROR_FROM:
        missing.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        why = "not found" if group is None else "is not a classic group"
        missing.error_message = f"Group {group_id} {why}."
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
