"""Sessions: how long a member may stay silent.

A heartbeat only writes down the new deadline. The timer stays where it is and looks again when it goes off, so that a
member that sends ten heartbeats per session costs one timer per session. A timer is moved only when the deadline came
closer.
"""

from __future__ import annotations

from collections.abc import Hashable

from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member
from penstock.core.groups.turn import Turn

SESSION_TIMER = "session"


def session_key(group_id: str, member_id: str) -> Hashable:
    return (SESSION_TIMER, group_id, member_id)


def keep_alive(turn: Turn, group: ClassicGroup, member: Member) -> None:
    """The member was heard of, or is owed a full session from now on."""
    _expect_within(turn, group, member, member.session_timeout_ms)


def welcome(turn: Turn, group: ClassicGroup, member: Member) -> None:
    """A newcomer cannot send heartbeats before its first join completes, so its join itself is bounded."""
    _expect_within(turn, group, member, turn.settings.new_member_join_timeout_ms)


def expect_back(turn: Turn, group: ClassicGroup, member_id: str, session_timeout_ms: int) -> None:
    """A member id was given out; whoever got it must join with it within a session."""
    group.pending.add(member_id)
    turn.timers.set(session_key(group.group_id, member_id), turn.now_ms + session_timeout_ms)


def end(turn: Turn, group: ClassicGroup, member_id: str) -> None:
    turn.timers.cancel(session_key(group.group_id, member_id))


def is_over(turn: Turn, group: ClassicGroup, member: Member) -> bool:
    """Called when a member's timer went off: whether its session ended. Otherwise the timer is set anew if needed."""
    member.alarm_ms = None
    if turn.now_ms < member.deadline_ms:
        # Where the clock was set back meanwhile, the deadline is of another day.
        timeout_ms = turn.settings.new_member_join_timeout_ms if member.is_new else member.session_timeout_ms
        member.deadline_ms = min(member.deadline_ms, turn.now_ms + timeout_ms)
        _set_alarm(turn, group, member)
        return False
    # A member that waits for a reply of ours cannot be blamed; answering it begins a new session. A newcomer can:
    # nobody else would ever notice that it went away.
    waits_for_us = member.member_id in group.joining or member.member_id in group.syncing
    return member.is_new or not waits_for_us


def _expect_within(turn: Turn, group: ClassicGroup, member: Member, timeout_ms: int) -> None:
    member.deadline_ms = turn.now_ms + timeout_ms
    if member.alarm_ms is None or member.deadline_ms < member.alarm_ms:
        _set_alarm(turn, group, member)


def _set_alarm(turn: Turn, group: ClassicGroup, member: Member) -> None:
    member.alarm_ms = member.deadline_ms
    turn.timers.set(session_key(group.group_id, member.member_id), member.deadline_ms)
