"""Sessions of members, and how long one may take to give partitions up."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ConsumerMember, MemberState
from penstock.core.groups.turn import Turn

SESSION_TIMER: Final = "consumer session"
REBALANCE_TIMER: Final = "consumer rebalance"
PATTERN_TIMER: Final = "consumer pattern"
JOIN_TIMER: Final = "consumer join"
SYNC_TIMER: Final = "consumer sync"
DOWNGRADE_TIMER: Final = "consumer downgrade"


def keep_alive(turn: Turn, group_id: str, member: ConsumerMember) -> None:
    """The member was heard of, or is owed a full session from now on."""
    usual_ms = turn.settings.consumer(group_id).session_timeout_ms
    timeout_ms = usual_ms if member.classic is None else member.classic.session_timeout_ms
    turn.timers.set(_session(group_id, member.member_id), turn.now_ms + timeout_ms)


def watch(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    """Who is to give something up has its rebalance timeout for that, and loses its place if it does not. Who speaks
    the classic protocol has it for each join and each sync."""
    key = (REBALANCE_TIMER, group.group_id, member.member_id)
    if member.state is MemberState.UNREVOKED and member.classic is None:
        turn.timers.set(key, turn.now_ms + member.rebalance_timeout_ms)
    else:
        turn.timers.cancel(key)


def expect_join(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    """It was told to join again: from the first time on that counts."""
    if member.member_id not in group.told_to_join:
        group.told_to_join.add(member.member_id)
        turn.timers.set((JOIN_TIMER, group.group_id, member.member_id), turn.now_ms + member.rebalance_timeout_ms)


def expect_sync(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    group.told_to_join.discard(member.member_id)
    turn.timers.cancel((JOIN_TIMER, group.group_id, member.member_id))
    turn.timers.set((SYNC_TIMER, group.group_id, member.member_id), turn.now_ms + member.rebalance_timeout_ms)


def synced(turn: Turn, group_id: str, member_id: str) -> None:
    turn.timers.cancel((SYNC_TIMER, group_id, member_id))


def look_at_kind_soon(turn: Turn, group_id: str) -> None:
    """Perhaps only members of the classic protocol are left: that is decided in a turn of its own, once it is so."""
    turn.timers.set((DOWNGRADE_TIMER, group_id), turn.now_ms)


def resolve_soon(turn: Turn, group_id: str) -> None:
    """Find out what a pattern describes, or go on with it, in turns of its own."""
    turn.timers.set((PATTERN_TIMER, group_id), turn.now_ms)


def end(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    turn.timers.cancel(_session(group.group_id, member.member_id))
    for what in (REBALANCE_TIMER, JOIN_TIMER, SYNC_TIMER):
        turn.timers.cancel((what, group.group_id, member.member_id))
    group.told_to_join.discard(member.member_id)


def end_all(turn: Turn, group: ConsumerGroup) -> None:
    """The group goes, or is somebody else's."""
    turn.timers.cancel((PATTERN_TIMER, group.group_id))
    turn.timers.cancel((DOWNGRADE_TIMER, group.group_id))
    for member in group.members.values():
        end(turn, group, member)


def _session(group_id: str, member_id: str) -> Hashable:
    return (SESSION_TIMER, group_id, member_id)
