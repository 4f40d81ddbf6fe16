"""Static members: a process that comes back under its instance id takes over the place of the one before it.

The old process, if it still lives, is fenced. As long as the group's choice of protocol stays the same nobody else
notices: no rebalance, the same assignment, only the new member id is written down.
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.classic import rebalance, sessions
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.joiner import Joiner, finds_room, park, update
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.records import group_metadata_record
from penstock.core.groups.classic.replies import join_refused, joined, sync_refused
from penstock.core.groups.classic.states import State
from penstock.core.groups.turn import Turn

SKIP_ASSIGNMENT_FROM = 9


def replace(turn: Turn, group: ClassicGroup, joiner: Joiner, new_id: str) -> None:
    assert joiner.instance_id is not None, "only a static member can be replaced"
    old_leader = group.leader
    member = group.members[group.static_ids[joiner.instance_id]]
    if not finds_room(turn, joiner, member):
        return
    _fence(turn, group, member.member_id)
    group.rename_static(member, new_id)
    member.is_new = False
    member.alarm_ms = None
    update(group, member, joiner)
    sessions.keep_alive(turn, group, member)
    is_quiet = group.state is State.STABLE and group.choose_protocol() == group.protocol
    if not is_quiet or not _take_over_quietly(turn, group, member, joiner, old_leader):
        # The leader may be assigning to the old member id right now, so a half-made generation starts over.
        park(turn, group, new_id, joiner.reply)
        rebalance.prepare_or_complete(turn, group)


def _fence(turn: Turn, group: ClassicGroup, old_id: str) -> None:
    sessions.end(turn, group, old_id)
    seat = turn.room.release(group.joining, old_id)
    if seat is not None:
        turn.answer_seat(seat, join_refused(old_id, ErrorCode.FENCED_INSTANCE_ID))
    seat = turn.room.release(group.syncing, old_id)
    if seat is not None:
        turn.answer_seat(seat, sync_refused(ErrorCode.FENCED_INSTANCE_ID))


def _take_over_quietly(turn: Turn, group: ClassicGroup, member: Member, joiner: Joiner, old_leader: str | None) -> bool:
    """Gives whether that can be written down: the new process may say more of itself than the old one did."""
    assignments = {each.member_id: each.assignment for each in group.members.values()}
    turn.result.records.append(group_metadata_record(group, assignments))
    if turn.is_too_large():
        turn.result.records.clear()
        return False
    if joiner.version >= SKIP_ASSIGNMENT_FROM:
        leads = group.leader == member.member_id
        response = joined(group, member.member_id, skip_assignment=leads)
    else:
        # An older client cannot be told to skip the assignment. Naming the old id as leader keeps it from assigning.
        response = joined(group, member.member_id, leader=old_leader)
    turn.answer(joiner.reply, response)
    return True
