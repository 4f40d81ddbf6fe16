"""Heartbeat, versions 0 to 4: "I am alive", answered with whether the generation still holds.

Version 3 adds static members.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.classic import sessions
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.states import State
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(turn: Turn, group: ClassicGroup | None, request: HeartbeatRequest) -> HeartbeatResponse:
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    if group is None:
        return HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    try:
        member = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    except ApiError as error:
        return HeartbeatResponse(error_code=error.code)
    sessions.keep_alive(turn, group, member)
    rebalancing = group.state is State.PREPARING_REBALANCE
    return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE)
