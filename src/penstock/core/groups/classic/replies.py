"""The responses of the join and sync phases."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.wire.api.join_group import JoinGroupResponse, JoinGroupResponseMember
from penstock.core.wire.api.sync_group import SyncGroupResponse


def join_refused(member_id: str, code: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, member_id=member_id)


def joined(
    group: ClassicGroup, member_id: str, *, leader: str | None = None, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The current generation as one member sees it: only the leader gets to know the others."""
    leader = group.leader if leader is None else leader
    assert leader is not None, "a generation has a leader"
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=leader,
        member_id=member_id,
        members=_roster(group) if leader == member_id else [],
        skip_assignment=skip_assignment,
    )


def sync_refused(code: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code)


def assigned(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment)


def _roster(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    assert group.protocol is not None, "a generation has a protocol"
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata(group.protocol),
        )
        for member in group.members.values()
    ]
