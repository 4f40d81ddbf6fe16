"""Classic groups as a part of a shard: which records and requests are theirs, and what time and others do to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic import rebalance, sessions
from penstock.core.groups.classic.describe import describe, listed
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.heartbeat import heartbeat
from penstock.core.groups.classic.join import join
from penstock.core.groups.classic.joiner import Joiner
from penstock.core.groups.classic.leave import leave
from penstock.core.groups.classic.records import (
    GROUP_METADATA_TYPE,
    decode_group_key,
    decode_group_value,
    group_tombstone,
    has_come_from,
    recorded,
    restored,
)
from penstock.core.groups.classic.replies import join_refused, sync_refused
from penstock.core.groups.classic.states import State
from penstock.core.groups.classic.sync import sync
from penstock.core.groups.context import ShardContext
from penstock.core.groups.kinds import Answer, Committer
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import KeyValue
from penstock.core.wire import Message
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest
from penstock.core.wire.api.leave_group import LeaveGroupRequest
from penstock.core.wire.api.list_groups import ListedGroup
from penstock.core.wire.api.sync_group import SyncGroupRequest


class ClassicKind:
    """The classic groups of one shard."""

    name: Final = ClassicGroup.kind
    record_types: Final = (GROUP_METADATA_TYPE,)

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._groups = context.groups
        self.answers: Mapping[type[Message], Answer] = {
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._heartbeat,
            LeaveGroupRequest: self._leave,
            DescribeGroupsRequest: self._describe,
        }

    # The log.

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        group_id = decode_group_key(key)
        group = self._groups.find(ClassicGroup, group_id)
        if value is not None:
            stored = decode_group_value(value)
            if group is not None and has_come_from(group, stored):
                recorded(group, stored, now_ms)
            else:
                self._groups.put(restored(group_id, stored))
        elif group is not None:
            del self._groups[group_id]
            group.move_to(State.DEAD, now_ms)
            self._cancel_timers(self._context.turn(now_ms), group)

    def loaded(self, turn: Turn, group: ClassicGroup) -> None:
        turn.memory.take(group.size_bytes)
        for member in group.members.values():
            sessions.keep_alive(turn, group, member)
        if len(group.members) > turn.settings.group_members_max:
            rebalance.prepare(turn, group)

    def lose(self, turn: Turn, group: ClassicGroup, code: ErrorCode) -> None:
        for member_id in list(group.joining):
            if seat := turn.room.release(group.joining, member_id):
                turn.answer_seat(seat, join_refused(member_id, code))
        for member_id in list(group.syncing):
            if seat := turn.room.release(group.syncing, member_id):
                turn.answer_seat(seat, sync_refused(code))
        self._cancel_timers(turn, group)

    def _cancel_timers(self, turn: Turn, group: ClassicGroup) -> None:
        turn.timers.cancel(rebalance.join_key(group.group_id))
        turn.timers.cancel(rebalance.sync_key(group.group_id))
        turn.timers.cancel(rebalance.begin_key(group.group_id))
        for member_id in [*group.members, *sorted(group.pending)]:
            sessions.end(turn, group, member_id)

    # Membership.

    def _join(self, turn: Turn, asked: Asked[JoinGroupRequest]) -> None:
        join(turn, self._groups, Joiner.of(asked), self._context.entropy)

    def _sync(self, turn: Turn, asked: Asked[SyncGroupRequest]) -> None:
        sync(turn, self._find(asked.request.group_id), asked.request, asked.version, asked.reply)

    def _heartbeat(self, turn: Turn, asked: Asked[HeartbeatRequest]) -> None:
        turn.answer(asked.reply, heartbeat(turn, self._find(asked.request.group_id), asked.request))

    def _leave(self, turn: Turn, asked: Asked[LeaveGroupRequest]) -> None:
        group = self._find(asked.request.group_id)
        turn.answer(asked.reply, leave(turn, group, asked.request, asked.version))

    def on_timer(self, turn: Turn, group: ClassicGroup, key: Hashable) -> None:
        match key:
            case (sessions.SESSION_TIMER, _, str(member_id)):
                rebalance.on_session_timer(turn, group, member_id)
            case (rebalance.JOIN_TIMER, _):
                rebalance.on_join_timer(turn, group)
            case (rebalance.SYNC_TIMER, _):
                rebalance.on_sync_timer(turn, group)
            case (rebalance.BEGIN_TIMER, _):
                rebalance.on_begin_timer(turn, group)

    # What others ask.

    def admit_commit(self, turn: Turn, group: ClassicGroup, committer: Committer) -> None:
        group.check_commit(committer.member_id, committer.instance_id, committer.epoch, committer.in_transaction)
        member = group.members.get(committer.member_id)
        if member is not None and not committer.in_transaction:
            sessions.keep_alive(turn, group, member)

    def admit_fetch(self, group: ClassicGroup, member_id: str | None, epoch: int) -> None:
        """Everybody may."""

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """A group's leader looks for new partitions by itself, and joins again."""
        return ()

    def listed(self, group: ClassicGroup) -> ListedGroup:
        return listed(group)

    def forget_elsewhere(self, turn: Turn, group: ClassicGroup, then: Callable[[Turn, ErrorCode], None]) -> bool:
        """All of it is here."""
        return False

    def tombstones(self, group: ClassicGroup) -> list[KeyValue]:
        return [group_tombstone(group.group_id)]

    def _describe(self, turn: Turn, asked: Asked[DescribeGroupsRequest]) -> None:
        groups = [describe(group_id, self._groups.get(group_id), asked.version) for group_id in asked.request.groups]
        turn.answer(asked.reply, DescribeGroupsResponse(groups=groups))

    def _find(self, group_id: str) -> ClassicGroup | None:
        return self._groups.find(ClassicGroup, group_id)
