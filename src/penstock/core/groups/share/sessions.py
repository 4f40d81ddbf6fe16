"""Sessions of members, and how they go: by themselves, or by silence."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.share.records import epoch_record, member_tombstones
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn

SESSION_TIMER: Final = "share session"


def keep_alive(turn: Turn, group_id: str, member_id: str) -> None:
    """The member was heard of, or is owed a full session from now on."""
    timeout_ms = turn.settings.share(group_id).session_timeout_ms
    turn.timers.set(_session(group_id, member_id), turn.now_ms + timeout_ms)


def end(turn: Turn, group_id: str, member_ids: Iterable[str]) -> None:
    for member_id in member_ids:
        turn.timers.cancel(_session(group_id, member_id))


def fence(turn: Turn, topics: TopicLookup, group: ShareGroup, member_id: str) -> None:
    """It is no member any more."""
    rest = frozenset[str]().union(*(each.topics for each in group.members.values() if each.member_id != member_id))
    if group.epoch == group.assignment_epoch:
        turn.counts.rebalances += 1
    turn.result.records += member_tombstones(group.group_id, member_id)
    turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash(topics, rest)))
    end(turn, group.group_id, [member_id])


def _session(group_id: str, member_id: str) -> Hashable:
    return (SESSION_TIMER, group_id, member_id)
