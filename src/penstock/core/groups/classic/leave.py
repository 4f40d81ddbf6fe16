"""LeaveGroup, versions 0 to 5: members go, by themselves or taken out by an administrator.

Before version 3 one member leaves per request and its error is the response's; since then several may, and a static
member can be named by its instance id alone. Version 5 adds a reason (for the reader of a trace only).
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.classic import rebalance, sessions
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

SEVERAL_FROM = 3


def leave(turn: Turn, group: ClassicGroup | None, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    leavers = request.members if version >= SEVERAL_FROM else [MemberIdentity(member_id=request.member_id)]
    codes = [_take_out(turn, group, leaver) for leaver in leavers]
    if group is not None and not group.is_empty and ErrorCode.NONE in codes:
        rebalance.prepare_or_complete(turn, group)
    if version < SEVERAL_FROM:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=code)
            for leaver, code in zip(leavers, codes, strict=True)
        ]
    )


def _take_out(turn: Turn, group: ClassicGroup | None, leaver: MemberIdentity) -> ErrorCode:
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    member_id, instance_id = leaver.member_id, leaver.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.static_ids.get(instance_id, "")
    if member_id in group.pending:
        group.pending.remove(member_id)
        sessions.end(turn, group, member_id)
        return ErrorCode.NONE
    try:
        group.check_member(member_id, instance_id)
    except ApiError as error:
        return error.code
    rebalance.expel(turn, group, member_id)
    return ErrorCode.NONE
