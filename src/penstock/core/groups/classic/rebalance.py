"""The rebalance itself: how a group gathers its members, forms a generation, and waits for the assignment.

prepare ---- everybody joined, or time is up ----> complete_join ---- the leader's sync ----> stable
   ^                                                    |
   +---- somebody came, left, changed or was silent ----+
"""

from __future__ import annotations

from collections.abc import Hashable

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.classic import sessions
from penstock.core.groups.classic.group import ClassicGroup, InitialDelay
from penstock.core.groups.classic.records import group_metadata_record
from penstock.core.groups.classic.replies import join_refused, joined, sync_refused
from penstock.core.groups.classic.states import State, can_rebalance
from penstock.core.groups.turn import Turn

JOIN_TIMER = "join"
SYNC_TIMER = "sync"
BEGIN_TIMER = "begin"


def join_key(group_id: str) -> Hashable:
    return (JOIN_TIMER, group_id)


def sync_key(group_id: str) -> Hashable:
    return (SYNC_TIMER, group_id)


def begin_key(group_id: str) -> Hashable:
    return (BEGIN_TIMER, group_id)


def on_begin_timer(turn: Turn, group: ClassicGroup) -> None:
    """The group has come out of one whose coordinator assigned, and has not got an assignment of its own."""
    if group.state is State.STABLE:
        prepare(turn, group)


def prepare_or_complete(turn: Turn, group: ClassicGroup) -> None:
    """The membership changed: begin a rebalance, or see whether the one being prepared can complete now."""
    if can_rebalance(group.state):
        prepare(turn, group)
    else:
        complete_if_all_joined(turn, group)


def prepare(turn: Turn, group: ClassicGroup) -> None:
    """Begin a rebalance: members learn of it by their heartbeat, or at once where they wait for an assignment."""
    if group.state is State.COMPLETING_REBALANCE:
        _give_up_assignment(turn, group)
    if group.rebalancing_since_ms is None:
        group.rebalancing_since_ms = turn.now_ms
        turn.counts.rebalances += 1
    group.owing_sync.clear()
    turn.timers.cancel(sync_key(group.group_id))
    first = group.is_empty
    group.move_to(State.PREPARING_REBALANCE, turn.now_ms)
    if first:
        _wait_for_company(turn, group)
    elif group.all_joined():
        complete_join(turn, group)
    else:
        _set_join_timer(turn, group, group.rebalance_timeout_ms())


def complete_if_all_joined(turn: Turn, group: ClassicGroup) -> None:
    """End the join phase early; the first rebalance of a group always waits for its delay."""
    preparing = group.state is State.PREPARING_REBALANCE
    if preparing and group.previous_state is not State.EMPTY and group.all_joined():
        complete_join(turn, group)


def on_join_timer(turn: Turn, group: ClassicGroup) -> None:
    if group.state is not State.PREPARING_REBALANCE:
        return
    delay = group.initial_delay
    if delay is None or not delay.newcomers or delay.remaining_ms == 0:
        complete_join(turn, group)
        return
    stretch_ms = min(turn.settings.initial_rebalance_delay_ms, delay.remaining_ms)
    group.initial_delay = InitialDelay(delay.remaining_ms - stretch_ms)
    _set_join_timer(turn, group, stretch_ms)


def complete_join(turn: Turn, group: ClassicGroup) -> None:
    """End the join phase: those who came form the next generation, static members keep their place while away."""
    turn.timers.cancel(join_key(group.group_id))
    for member in list(group.members.values()):
        if not member.is_static and member.member_id not in group.joining:
            expel(turn, group, member.member_id)
    if group.members and not group.elect_joined_leader():
        # Only static members are left and none of them came. Their sessions will end one by one; look again then.
        _set_join_timer(turn, group, group.rebalance_timeout_ms())
        return
    group.begin_generation(turn.now_ms)
    if group.is_empty:
        group.rebalancing_since_ms = None
        turn.result.records.append(group_metadata_record(group, {}))
    else:
        _announce_generation(turn, group)


def on_sync_timer(turn: Turn, group: ClassicGroup) -> None:
    """Some members joined but never asked for their assignment: go on without them."""
    if group.state not in (State.COMPLETING_REBALANCE, State.STABLE) or not group.owing_sync:
        return
    for member_id in [each for each in group.members if each in group.owing_sync]:
        expel(turn, group, member_id)
    prepare(turn, group)


def on_session_timer(turn: Turn, group: ClassicGroup, member_id: str) -> None:
    """A member was silent for a session, or whoever got a member id never came back with it."""
    if member_id in group.pending:
        group.pending.remove(member_id)
    elif member_id in group.members and sessions.is_over(turn, group, group.members[member_id]):
        expel(turn, group, member_id)
        if can_rebalance(group.state):
            prepare(turn, group)
            return
    else:
        return
    if group.state is State.PREPARING_REBALANCE and group.all_joined():
        # Even a group's first rebalance ends now: those who are here have waited for a whole session.
        complete_join(turn, group)


def expel(turn: Turn, group: ClassicGroup, member_id: str) -> None:
    """Take a member out; if it waits for anything, it learns that it is unknown now and may join again."""
    sessions.end(turn, group, member_id)
    seat = turn.room.release(group.joining, member_id)
    if seat is not None:
        turn.answer_seat(seat, join_refused("", ErrorCode.UNKNOWN_MEMBER_ID))
    seat = turn.room.release(group.syncing, member_id)
    if seat is not None:
        turn.answer_seat(seat, sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member_id)


def _announce_generation(turn: Turn, group: ClassicGroup) -> None:
    for member in group.members.values():
        seat = turn.room.release(group.joining, member.member_id)
        if seat is not None:
            turn.answer_seat(seat, joined(group, member.member_id))
        member.is_new = False
        sessions.keep_alive(turn, group, member)
        group.owing_sync.add(member.member_id)
    turn.timers.set(sync_key(group.group_id), turn.now_ms + group.rebalance_timeout_ms())


def _give_up_assignment(turn: Turn, group: ClassicGroup) -> None:
    for member in group.members.values():
        group.assign(member, b"")
        seat = turn.room.release(group.syncing, member.member_id)
        if seat is not None:
            turn.answer_seat(seat, sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
            sessions.keep_alive(turn, group, member)


def _wait_for_company(turn: Turn, group: ClassicGroup) -> None:
    """Consumers of one application start at about the same time: a short wait saves a rebalance for each."""
    delay_ms = turn.settings.initial_rebalance_delay_ms
    group.initial_delay = InitialDelay(max(group.rebalance_timeout_ms() - delay_ms, 0))
    _set_join_timer(turn, group, delay_ms)


def _set_join_timer(turn: Turn, group: ClassicGroup, delay_ms: int) -> None:
    turn.timers.set(join_key(group.group_id), turn.now_ms + delay_ms)
