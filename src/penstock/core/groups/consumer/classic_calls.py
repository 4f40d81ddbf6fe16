"""Heartbeat, SyncGroup and LeaveGroup of members of the classic protocol in a group whose coordinator assigns."""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.classic.leave import SEVERAL_FROM
from penstock.core.groups.consumer import sessions
from penstock.core.groups.consumer.checking import check_instance
from penstock.core.groups.consumer.embedded import PROTOCOL_TYPE, written_assignment
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.leaving import fence
from penstock.core.groups.consumer.member import ClassicMember, ConsumerMember, MemberState, without_epochs
from penstock.core.groups.consumer.targeting import is_due, retarget
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupResponse


def heartbeat(turn: Turn, topics: TopicLookup, group: ConsumerGroup, request: HeartbeatRequest) -> None:
    """Raise ApiError where it has to join again: to catch up, to say what it has given up, or to get what is free."""
    member, _ = _checked(group, request.member_id, request.group_instance_id, request.generation_id)
    sessions.keep_alive(turn, group.group_id, member)
    target_epoch = group.assignment_epoch
    if target_epoch < group.epoch and is_due(turn, group):
        retarget(turn, topics, group, group.epoch, group.members)
        target_epoch = group.epoch
    if member.epoch < target_epoch or member.state is MemberState.UNREVOKED or group.may_get_more(member):
        sessions.expect_join(turn, group, member)
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def sync(turn: Turn, topics: TopicLookup, group: ConsumerGroup, request: SyncGroupRequest) -> SyncGroupResponse:
    """What it has by now. Kafka looks at the protocol first, and tells who has missed a change of the group's kind
    that it does not fit in, which ends a consumer."""
    member, classic = _checked(group, request.member_id, request.group_instance_id, request.generation_id)
    if member.epoch < group.assignment_epoch and member.state is not MemberState.UNREVOKED:
        sessions.expect_join(turn, group, member)
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
    if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (None, classic.protocol):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    sessions.synced(turn, group.group_id, member.member_id)
    sessions.keep_alive(turn, group.group_id, member)
    return SyncGroupResponse(
        protocol_type=PROTOCOL_TYPE,
        protocol_name=classic.protocol,
        assignment=written_assignment(topics, without_epochs(member.assigned), classic.subscription),
    )


def leave(
    turn: Turn, topics: TopicLookup, group: ConsumerGroup, request: LeaveGroupRequest, version: int
) -> LeaveGroupResponse:
    """An administrator may take out members of either protocol."""
    leavers = request.members if version >= SEVERAL_FROM else [MemberIdentity(member_id=request.member_id)]
    going: dict[str, ConsumerMember] = {}
    codes = [_goes(group, leaver, going) for leaver in leavers]
    if going:
        fence(turn, topics, group, *going.values())
    if version < SEVERAL_FROM:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=code)
            for leaver, code in zip(leavers, codes, strict=True)
        ]
    )


def _goes(group: ConsumerGroup, leaver: MemberIdentity, going: dict[str, ConsumerMember]) -> ErrorCode:
    try:
        if leaver.group_instance_id is None:
            member = group.member(leaver.member_id)
        else:
            known = group.static_member(leaver.group_instance_id)
            known_id = "" if known is None else known.member_id
            member = check_instance(known, leaver.member_id or known_id, leaver.group_instance_id)
    except ApiError as error:
        return error.code
    going[member.member_id] = member
    return ErrorCode.NONE


def _checked(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicMember]:
    if instance_id is None:
        member = group.member(member_id)
    else:
        member = check_instance(group.static_member(instance_id), member_id, instance_id)
    if member.classic is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    if generation != member.epoch:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    return member, member.classic
