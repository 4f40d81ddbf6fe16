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


def keep_alive(turn: Turn, group: ConsumerGroup, member_id: str) -> None:
    """The member was heard of, or is owed a full session from now on."""
    turn.timers.set(_session(group.group_id, member_id), turn.now_ms + turn.settings.consumer_session_timeout_ms)


def watch(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    """Who is to give something up has its rebalance timeout for that, and loses its place if it does not."""
    key = (REBALANCE_TIMER, group.group_id, member.member_id)
    if member.state is MemberState.UNREVOKED:
        turn.timers.set(key, turn.now_ms + member.rebalance_timeout_ms)
    else:
        turn.timers.cancel(key)


def resolve_soon(turn: Turn, group_id: str) -> None:
    """Find out what a pattern describes, or go on with it, in turns of its own."""
    turn.timers.set((PATTERN_TIMER, group_id), turn.now_ms)


def end(turn: Turn, group: ConsumerGroup, member: ConsumerMember) -> None:
    turn.timers.cancel(_session(group.group_id, member.member_id))
    turn.timers.cancel((REBALANCE_TIMER, group.group_id, member.member_id))


def _session(group_id: str, member_id: str) -> Hashable:
    return (SESSION_TIMER, group_id, member_id)
