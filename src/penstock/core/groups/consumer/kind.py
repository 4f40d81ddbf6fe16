"""Consumer groups as a part of a shard: which records and requests are theirs, and what time and others do to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.records import group_tombstone
from penstock.core.groups.consumer import sessions
from penstock.core.groups.consumer.changing import downgrade, may_downgrade, moved_in, upgraded
from penstock.core.groups.consumer.checking import JOIN_EPOCH, check_request
from penstock.core.groups.consumer.classic_answers import ClassicAnswers, new_id
from penstock.core.groups.consumer.describe import describe, listed
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.heartbeat import heartbeat
from penstock.core.groups.consumer.leaving import fence, leave
from penstock.core.groups.consumer.member import ConsumerMember, MemberState
from penstock.core.groups.consumer.records import (
    KEY_OF_TYPE,
    decode_key,
    epoch_record,
    group_tombstones,
    pattern_record,
    replay_in,
)
from penstock.core.groups.consumer.resolving import Resolving
from penstock.core.groups.context import ShardContext
from penstock.core.groups.kinds import Answer, Committer
from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import KeyValue, Result
from penstock.core.wire import Message
from penstock.core.wire.api.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from penstock.core.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from penstock.core.wire.api.list_groups import ListedGroup
from penstock.core.wire.stored.consumer_group import ConsumerGroupMetadataKey

EPOCHS_IN_COMMITS_FROM: Final = 9


class ConsumerKind:
    """The consumer groups of one shard."""

    name: Final = ConsumerGroup.kind
    record_types: Final = tuple(KEY_OF_TYPE)

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._groups = context.groups
        self.answers: Mapping[type[Message], Answer] = {
            ConsumerGroupHeartbeatRequest: self._heartbeat,
            ConsumerGroupDescribeRequest: self._describe,
            **ClassicAnswers(context).answers,
        }

    # The log.

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        decoded: Any = decode_key(key)
        group = self._groups.find(ConsumerGroup, decoded.group_id)
        if isinstance(decoded, ConsumerGroupMetadataKey) and value is None:
            if group is not None:
                del self._groups[group.group_id]
                sessions.end_all(self._context.turn(now_ms), group)
            return
        if group is None:
            if value is None:
                return
            group = ConsumerGroup(decoded.group_id)
            self._groups.put(group)
        replay_in(group, decoded, value)

    def loaded(self, turn: Turn, group: ConsumerGroup) -> None:
        turn.memory.take(group.size_bytes)
        # Topics may have come while nobody looked.
        group.stale_patterns.update(group.patterns)
        if group.patterns:
            sessions.resolve_soon(turn, group.group_id)
        for member in group.members.values():
            sessions.keep_alive(turn, group.group_id, member)
            sessions.watch(turn, group, member)
        if may_downgrade(turn, group):
            sessions.look_at_kind_soon(turn, group.group_id)

    def lose(self, turn: Turn, group: ConsumerGroup, code: ErrorCode) -> None:
        sessions.end_all(turn, group)

    # Membership.

    def _heartbeat(self, turn: Turn, asked: Asked[ConsumerGroupHeartbeatRequest]) -> None:
        turn.result.is_only_record = True
        try:
            response = self._decided(turn, asked)
            if turn.is_too_large():
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        except ApiError as error:
            turn.result.records.clear()
            response = ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
        turn.answer(asked.reply, response)

    def _decided(self, turn: Turn, asked: Asked[ConsumerGroupHeartbeatRequest]) -> ConsumerGroupHeartbeatResponse:
        request, topics = asked.request, self._context.topics
        check_request(request, asked.version, turn.settings.consumer_assignors)
        if request.member_epoch < JOIN_EPOCH:
            return leave(turn, topics, self._found(request.group_id), request)
        if request.member_epoch != JOIN_EPOCH:
            return heartbeat(turn, topics, self._found(request.group_id), asked, request.member_id)
        return self._joined(turn, asked)

    def _found(self, group_id: str) -> ConsumerGroup:
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        why = f"Consumer group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, why)

    def _joined(self, turn: Turn, asked: Asked[ConsumerGroupHeartbeatRequest]) -> ConsumerGroupHeartbeatResponse:
        """A group begins with its first member, also where there are only offsets, or members of the classic
        protocol."""
        group_id, topics = asked.request.group_id, self._context.topics
        before = self._groups.get(group_id)
        if isinstance(before, ConsumerGroup):
            group = before
        elif isinstance(before, ClassicGroup) and not before.is_empty:
            group = upgraded(turn, topics, before)
        elif before is None or isinstance(before, ClassicGroup):
            turn.result.records += [] if before is None else [group_tombstone(group_id)]
            group = ConsumerGroup(group_id)
        else:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        response = heartbeat(turn, topics, group, asked, asked.request.member_id or new_id(self._context.entropy))
        if isinstance(before, ClassicGroup) and not turn.is_too_large():
            moved_in(turn, before, group)
        return response

    def on_timer(self, turn: Turn, group: ConsumerGroup, key: Hashable) -> None:
        turn.result.is_only_record = True
        match key:
            case (sessions.SESSION_TIMER, _, str(member_id)) if member_id in group.members:
                fence(turn, self._context.topics, group, group.members[member_id])
            case (sessions.PATTERN_TIMER, _):
                self._resolve(turn, group)
            case (sessions.REBALANCE_TIMER, _, str(member_id)) if member_id in group.members:
                if group.members[member_id].state is MemberState.UNREVOKED:
                    fence(turn, self._context.topics, group, group.members[member_id])
            case (sessions.JOIN_TIMER | sessions.SYNC_TIMER, _, str(member_id)) if member_id in group.members:
                if group.members[member_id].classic is not None:
                    fence(turn, self._context.topics, group, group.members[member_id])
            case (sessions.DOWNGRADE_TIMER, _) if may_downgrade(turn, group):
                downgrade(turn, self._context.topics, group)

    def _resolve(self, turn: Turn, group: ConsumerGroup) -> None:
        """Some work on the first pattern that nobody has looked at, or not since topics have changed."""
        if group.resolving is None:
            pattern = next(iter(self._unresolved(group)), None)
            if pattern is None:
                return
            group.resolving = Resolving(pattern, self._context.topics.names())
        if group.resolving.go_on():
            done, group.resolving = group.resolving, None
            group.stale_patterns.discard(done.pattern)
            if group.has_pattern(done.pattern):
                self._resolved(turn, group, done)
        sessions.resolve_soon(turn, group.group_id)

    def _unresolved(self, group: ConsumerGroup) -> list[str]:
        wanted = {each.pattern for each in group.members.values() if each.pattern is not None}
        return sorted(each for each in wanted if each not in group.patterns or each in group.stale_patterns)

    def _resolved(self, turn: Turn, group: ConsumerGroup, done: Resolving) -> None:
        if group.patterns.get(done.pattern) == done.topics:
            return
        turn.result.records.append(pattern_record(group.group_id, done.pattern, done.topics, turn.now_ms))
        others = {name: topics for name, topics in group.patterns.items() if name != done.pattern}
        read = frozenset(group.subscribers).union(done.topics, *others.values())
        turn.result.records.append(
            epoch_record(group.group_id, group.epoch + 1, metadata_hash(self._context.topics, read))
        )

    # What others ask.

    def admit_commit(self, turn: Turn, group: ConsumerGroup, committer: Committer) -> None:
        """A member commits in its epoch; tools and consumers without membership only where nobody is."""
        if committer.epoch < 0 and group.is_empty:
            return
        if committer.in_transaction and committer.epoch < 0 and not committer.member_id:
            return
        member = group.member(committer.member_id)
        if member.classic is None and not committer.in_transaction and committer.version < EPOCHS_IN_COMMITS_FROM:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        _check_epoch(committer.epoch, member)

    def admit_fetch(self, group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
        if member_id is not None or epoch >= 0:
            _check_epoch(epoch, group.member(member_id or ""))

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """Groups that read what has come, grown or gone get their next epoch without being asked."""
        changed = changes.grown | changes.removed.keys()
        return [partial(self._looked_at, group_ids, changed) for group_ids in self._groups.slices()] if changed else []

    def _looked_at(self, group_ids: list[str], changed: frozenset[str], now_ms: int) -> Result:
        turn = self._context.turn(now_ms)
        turn.result.is_only_record = True
        for group in filter(None, (self._groups.find(ConsumerGroup, each) for each in group_ids)):
            if group.patterns:
                group.stale_patterns.update(group.patterns)
                sessions.resolve_soon(turn, group.group_id)
            if not group.is_empty and not changed.isdisjoint(group.topics):
                found = metadata_hash(self._context.topics, group.topics)
                if found != group.metadata_hash:
                    turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, found))
            if turn.has_swept_enough():
                break
        return turn.result

    def listed(self, group: ConsumerGroup) -> ListedGroup:
        return listed(group)

    def forget_elsewhere(self, turn: Turn, group: ConsumerGroup, then: Callable[[Turn, ErrorCode], None]) -> bool:
        """All of it is here."""
        return False

    def tombstones(self, group: ConsumerGroup) -> list[KeyValue]:
        return group_tombstones(group)

    def _describe(self, turn: Turn, asked: Asked[ConsumerGroupDescribeRequest]) -> None:
        default = turn.settings.consumer_assignors[0]
        groups = [
            describe(self._context.topics, group_id, self._groups.get(group_id), default)
            for group_id in asked.request.group_ids
        ]
        turn.answer(asked.reply, ConsumerGroupDescribeResponse(groups=groups))


def _check_epoch(epoch: int, member: ConsumerMember) -> None:
    if epoch != member.epoch:
        raise ApiError(ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION)
