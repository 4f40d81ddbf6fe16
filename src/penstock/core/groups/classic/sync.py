"""SyncGroup, versions 0 to 5: the leader hands in the assignment, everybody else waits for their part of it.

Version 3 adds static members. From version 5 on a member says which protocol it believes was chosen, so that one that
missed a generation cannot take the wrong assignment.

A generation that is too large to be written down is refused to all of its members, and they join again, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.classic import rebalance, sessions
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.records import group_metadata_record
from penstock.core.groups.classic.replies import assigned, sync_refused
from penstock.core.groups.classic.states import State
from penstock.core.groups.turn import Turn
from penstock.core.rsm.result import Reply
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupResponse

PROTOCOL_REQUIRED_FROM = 5


def sync(turn: Turn, group: ClassicGroup | None, request: SyncGroupRequest, version: int, reply: Reply) -> None:
    try:
        group = _checked(group, request, version)
    except ApiError as error:
        turn.answer(reply, sync_refused(error.code))
        return
    _settle_debt(turn, group, request.member_id)
    if group.state is State.STABLE:
        turn.answer(reply, assigned(group, group.members[request.member_id].assignment))
        return
    _park(turn, group, request.member_id, reply)
    if group.leader == request.member_id:
        _assign(turn, group, {each.member_id: each.assignment for each in request.assignments})


def _checked(group: ClassicGroup | None, request: SyncGroupRequest, version: int) -> ClassicGroup:
    """The group, if it waits for this member's sync or has its assignment."""
    if version >= PROTOCOL_REQUIRED_FROM and (request.protocol_type is None or request.protocol_name is None):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    if group is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    if request.protocol_type not in (None, group.protocol_type) or request.protocol_name not in (None, group.protocol):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is State.PREPARING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
    return group


def _settle_debt(turn: Turn, group: ClassicGroup, member_id: str) -> None:
    group.owing_sync.discard(member_id)
    if not group.owing_sync:
        turn.timers.cancel(rebalance.sync_key(group.group_id))


def _park(turn: Turn, group: ClassicGroup, member_id: str, reply: Reply) -> None:
    """As with joins, a request that its sender has repeated is answered rather than forgotten."""
    displaced = turn.room.park(group.syncing, member_id, reply)
    if displaced is not None:
        turn.answer_seat(displaced, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))


def _assign(turn: Turn, group: ClassicGroup, given: Mapping[str, bytes]) -> None:
    """Write the assignment down and tell those who wait; the group becomes stable when the record is replayed.

    Members that the leader left out get nothing, and it may name members that are gone.
    """
    assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
    turn.result.records.append(group_metadata_record(group, assignments))
    size_bytes = sum(map(len, assignments.values()))
    if turn.is_too_large() or not turn.memory.admits(size_bytes, size_bytes, turn.now_ms):
        turn.result.records.clear()
        _settle(turn, group, lambda member: sync_refused(ErrorCode.UNKNOWN_SERVER_ERROR))
        rebalance.prepare(turn, group)
    else:
        if group.rebalancing_since_ms is not None:
            turn.counts.rebalance_ms.observe(turn.now_ms - group.rebalancing_since_ms)
            group.rebalancing_since_ms = None
        _settle(turn, group, lambda member: assigned(group, assignments[member.member_id]))


def _settle(turn: Turn, group: ClassicGroup, answer: Callable[[Member], SyncGroupResponse]) -> None:
    for member in group.members.values():
        seat = turn.room.release(group.syncing, member.member_id)
        if seat is not None:
            turn.answer_seat(seat, answer(member))
            sessions.keep_alive(turn, group, member)
