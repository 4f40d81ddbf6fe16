"""Streams groups as a part of a shard: which records and requests are theirs, and what time and others do to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.records import group_tombstone
from penstock.core.groups.classic.replies import join_refused
from penstock.core.groups.context import ShardContext
from penstock.core.groups.kinds import Answer, Committer
from penstock.core.groups.streams import sessions
from penstock.core.groups.streams.checking import JOIN_EPOCH, LEAVE_EPOCH, check_request
from penstock.core.groups.streams.describe import describe, listed
from penstock.core.groups.streams.group import StreamsGroup
from penstock.core.groups.streams.heartbeat import Beat
from penstock.core.groups.streams.member import MemberState, StreamsMember
from penstock.core.groups.streams.records import KEY_OF_TYPE, decode_key, group_tombstones, replay_in
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import KeyValue
from penstock.core.wire import Message
from penstock.core.wire.api.join_group import JoinGroupRequest
from penstock.core.wire.api.list_groups import ListedGroup
from penstock.core.wire.api.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from penstock.core.wire.api.streams_group_heartbeat import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from penstock.core.wire.stored.streams_group import StreamsGroupMetadataKey

EPOCHS_IN_COMMITS_FROM: Final = 9


class StreamsKind:
    """The streams groups of one shard."""

    name: Final = StreamsGroup.kind
    record_types: Final = tuple(KEY_OF_TYPE)

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._groups = context.groups
        self._waits_until_ms: dict[str, int] = {}
        """Groups that have got their first member a short while ago."""
        self.answers: Mapping[type[Message], Answer] = {
            StreamsGroupHeartbeatRequest: self._heartbeat,
            StreamsGroupDescribeRequest: self._describe,
            JoinGroupRequest: self._join_classic,
        }

    # The log.

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        decoded: Any = decode_key(key)
        group = self._groups.find(StreamsGroup, decoded.group_id)
        if isinstance(decoded, StreamsGroupMetadataKey) and value is None:
            if group is not None:
                del self._groups[group.group_id]
                self._waits_until_ms.pop(group.group_id, None)
                sessions.end(self._context.turn(now_ms), group.group_id, group.members)
            return
        if group is None:
            if value is None:
                return
            group = StreamsGroup(decoded.group_id)
            self._groups.put(group)
        replay_in(group, decoded, value)

    def loaded(self, turn: Turn, group: StreamsGroup) -> None:
        turn.memory.take(group.size_bytes)
        for member in group.members.values():
            sessions.keep_alive(turn, group.group_id, member.member_id)
            sessions.watch(turn, group.group_id, member)

    def lose(self, turn: Turn, group: StreamsGroup, code: ErrorCode) -> None:
        sessions.end(turn, group.group_id, group.members)

    # Membership.

    def _heartbeat(self, turn: Turn, asked: Asked[StreamsGroupHeartbeatRequest]) -> None:
        turn.result.is_only_record = True
        try:
            response = self._decided(turn, asked)
            if turn.is_too_large():
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        except ApiError as error:
            turn.result.records.clear()
            response = StreamsGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
        turn.answer(asked.reply, response)

    def _decided(self, turn: Turn, asked: Asked[StreamsGroupHeartbeatRequest]) -> StreamsGroupHeartbeatResponse:
        request = asked.request
        check_request(request)
        if request.member_epoch == LEAVE_EPOCH:
            return self._leave(turn, request)
        group = self._found(turn, request.group_id, makes=request.member_epoch == JOIN_EPOCH)
        is_known = self._groups.get(request.group_id) is group
        return Beat(turn, self._context.topics, group, asked, is_known, self._is_delayed(turn, group)).decide()

    def _leave(self, turn: Turn, request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse:
        group = self._found(turn, request.group_id)
        member = group.member(request.member_id)
        sessions.fence(turn, group, member.member_id)
        if request.shutdown_application and group.shutdown_by is None:
            group.shutdown_by = member.member_id
        return StreamsGroupHeartbeatResponse(member_id=member.member_id, member_epoch=LEAVE_EPOCH, status=[])

    def _is_delayed(self, turn: Turn, group: StreamsGroup) -> bool:
        """A new group waits for further members, so that they share the tasks from the beginning."""
        until_ms = self._waits_until_ms.get(group.group_id)
        if group.is_empty and (until_ms is None or until_ms <= turn.now_ms):
            until_ms = turn.now_ms + turn.settings.streams_initial_rebalance_delay_ms
            self._waits_until_ms[group.group_id] = until_ms
        if until_ms is not None and until_ms <= turn.now_ms:
            del self._waits_until_ms[group.group_id]
            return False
        return until_ms is not None

    def _found(self, turn: Turn, group_id: str, makes: bool = False) -> StreamsGroup:
        """A classic group that nobody is in may become one: its offsets stay."""
        group = self._groups.get(group_id)
        if isinstance(group, StreamsGroup):
            return group
        absent = f"Streams group {group_id} not found."
        why = absent if group is None else f"Group {group_id} is not a streams group."
        if not makes or not (group is None or isinstance(group, ClassicGroup)):
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, why)
        if group is not None:
            if not group.is_empty or group.pending:
                raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, why)
            turn.result.records.append(group_tombstone(group_id))
        return StreamsGroup(group_id)

    def on_timer(self, turn: Turn, group: StreamsGroup, key: Hashable) -> None:
        turn.result.is_only_record = True
        match key:
            case (sessions.SESSION_TIMER, _, str(member_id)) if member_id in group.members:
                sessions.fence(turn, group, member_id)
            case (sessions.REBALANCE_TIMER, _, str(member_id)) if member_id in group.members:
                if group.members[member_id].state is MemberState.UNREVOKED:
                    sessions.fence(turn, group, member_id)

    # What others ask.

    def _join_classic(self, turn: Turn, asked: Asked[JoinGroupRequest]) -> None:
        turn.result.is_only_record = True
        turn.answer(asked.reply, join_refused("", ErrorCode.INCONSISTENT_GROUP_PROTOCOL))

    def admit_commit(self, turn: Turn, group: StreamsGroup, committer: Committer) -> None:
        """A member commits in its epoch; tools only where nobody is."""
        if committer.epoch < 0 and group.is_empty:
            return
        if committer.in_transaction and committer.epoch < 0 and not committer.member_id:
            return
        member = group.member(committer.member_id)
        if not committer.in_transaction and committer.version < EPOCHS_IN_COMMITS_FROM:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        _check_epoch(committer.epoch, member)

    def admit_fetch(self, group: StreamsGroup, member_id: str | None, epoch: int) -> None:
        if member_id is not None or epoch >= 0:
            _check_epoch(epoch, group.member(member_id or ""))

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """The next heartbeat looks at them: whoever hears of it has to send one anyway."""
        changed = changes.grown | changes.removed.keys()
        for group in self._groups.values() if changed else ():
            if isinstance(group, StreamsGroup) and group.topology and not changed.isdisjoint(group.topology.topics):
                group.configured = None
        return []

    def listed(self, group: StreamsGroup) -> ListedGroup:
        return listed(group)

    def forget_elsewhere(self, turn: Turn, group: StreamsGroup, then: Callable[[Turn, ErrorCode], None]) -> bool:
        """All of it is here."""
        return False

    def tombstones(self, group: StreamsGroup) -> list[KeyValue]:
        return group_tombstones(group)

    def _describe(self, turn: Turn, asked: Asked[StreamsGroupDescribeRequest]) -> None:
        groups = [describe(each, self._groups.get(each)) for each in asked.request.group_ids]
        turn.answer(asked.reply, StreamsGroupDescribeResponse(groups=groups))


def _check_epoch(epoch: int, member: StreamsMember) -> None:
    if epoch != member.epoch:
        raise ApiError(ErrorCode.STALE_MEMBER_EPOCH)
