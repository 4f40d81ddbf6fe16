"""Sessions of members, how long one may take to give tasks up, and how they go."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from penstock.core.groups.streams.group import StreamsGroup
from penstock.core.groups.streams.member import MemberState, StreamsMember
from penstock.core.groups.streams.records import epoch_record, member_tombstones
from penstock.core.groups.turn import Turn

SESSION_TIMER: Final = "streams session"
REBALANCE_TIMER: Final = "streams rebalance"


def keep_alive(turn: Turn, group_id: str, member_id: str) -> None:
    """The member was heard of, or is owed a full session from now on."""
    turn.timers.set(_session(group_id, member_id), turn.now_ms + turn.settings.streams_session_timeout_ms)


def watch(turn: Turn, group_id: str, member: StreamsMember) -> None:
    """Who is to give something up has its rebalance timeout for that, and loses its place if it does not."""
    key = (REBALANCE_TIMER, group_id, member.member_id)
    if member.state is MemberState.UNREVOKED:
        turn.timers.set(key, turn.now_ms + member.rebalance_timeout_ms)
    else:
        turn.timers.cancel(key)


def end(turn: Turn, group_id: str, member_ids: Iterable[str]) -> None:
    for member_id in member_ids:
        turn.timers.cancel(_session(group_id, member_id))
        turn.timers.cancel((REBALANCE_TIMER, group_id, member_id))


def fence(turn: Turn, group: StreamsGroup, member_id: str) -> None:
    """It is no member any more, and what it had is free."""
    if group.epoch == group.assignment_epoch:
        turn.counts.rebalances += 1
    turn.result.records += member_tombstones(group.group_id, member_id)
    turn.result.records.append(
        epoch_record(group.group_id, group.epoch + 1, group.metadata_hash, group.valid_epoch, group.assignment_configs)
    )
    end(turn, group.group_id, [member_id])


def _session(group_id: str, member_id: str) -> Hashable:
    return (SESSION_TIMER, group_id, member_id)
