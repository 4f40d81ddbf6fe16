"""Share groups as a part of a shard: which records and requests are theirs, and what time and others do to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.replies import join_refused
from penstock.core.groups.context import ShardContext
from penstock.core.groups.elsewhere import Codes, StateDue, Step
from penstock.core.groups.kinds import Answer, Committer
from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.share import admin, sessions
from penstock.core.groups.share.describe import describe, listed
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.share.heartbeat import JOIN_EPOCH, LEAVE_EPOCH, Beat, check_request, heartbeat
from penstock.core.groups.share.records import (
    KEY_OF_TYPE,
    decode_key,
    epoch_record,
    group_tombstones,
    replay_in,
    states_record,
)
from penstock.core.groups.share.setting_up import (
    GONE,
    deletable,
    delete_request,
    done,
    failures,
    initialize_request,
    told,
)
from penstock.core.groups.share.state_partitions import Topics
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import KeyValue, Reply, Result
from penstock.core.wire import Message
from penstock.core.wire.api.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from penstock.core.wire.api.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from penstock.core.wire.api.join_group import JoinGroupRequest
from penstock.core.wire.api.list_groups import ListedGroup
from penstock.core.wire.api.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from penstock.core.wire.schema import Request
from penstock.core.wire.stored.share_group import ShareGroupMetadataKey


class ShareKind:
    """The share groups of one shard."""

    name: Final = ShareGroup.kind
    record_types: Final = tuple(KEY_OF_TYPE)

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._groups = context.groups
        self.answers: Mapping[type[Message], Answer] = {
            ShareGroupHeartbeatRequest: self._heartbeat,
            ShareGroupDescribeRequest: self._describe,
            AlterShareGroupOffsetsRequest: self._alter,
            DeleteShareGroupOffsetsRequest: self._delete_offsets,
            JoinGroupRequest: self._join_classic,
        }

    # The log.

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        decoded: Any = decode_key(key)
        group = self._groups.find(ShareGroup, decoded.group_id)
        if isinstance(decoded, ShareGroupMetadataKey) and value is None:
            if group is not None:
                del self._groups[group.group_id]
                sessions.end(self._context.turn(now_ms), group.group_id, group.members)
            return
        if group is None:
            if value is None:
                return
            group = ShareGroup(decoded.group_id)
            self._groups.put(group)
        replay_in(group, decoded, value, now_ms)

    def loaded(self, turn: Turn, group: ShareGroup) -> None:
        turn.memory.take(group.size_bytes)
        for member_id in group.members:
            sessions.keep_alive(turn, group.group_id, member_id)

    def lose(self, turn: Turn, group: ShareGroup, code: ErrorCode) -> None:
        sessions.end(turn, group.group_id, group.members)

    # Membership.

    def _heartbeat(self, turn: Turn, asked: Asked[ShareGroupHeartbeatRequest]) -> None:
        self._beat(turn, asked, holds=asked.request.member_epoch == JOIN_EPOCH)

    def _beat(self, turn: Turn, asked: Asked[ShareGroupHeartbeatRequest], holds: bool) -> None:
        """Who joins is answered once there is something to read, rather than a heartbeat later."""
        turn.result.is_only_record = True
        try:
            beat = self._decided(turn, asked)
            if turn.is_too_large():
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        except ApiError as error:
            turn.result.records.clear()
            refused = ShareGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
            turn.answer(asked.reply, refused)
            return
        group_id, to_set_up = asked.request.group_id, beat.to_set_up
        if to_set_up:
            request = initialize_request(group_id, beat.epoch, to_set_up)
            again: tuple[Step, ...] = (partial(self._again, asked),) if holds else ()
            self._ask(turn, request, (partial(self._set_up, group_id, to_set_up), *again))
        if to_set_up and holds:
            self._hold(turn, asked.reply, ShareGroupHeartbeatResponse())
        else:
            turn.answer(asked.reply, beat.response)

    def _decided(self, turn: Turn, asked: Asked[ShareGroupHeartbeatRequest]) -> Beat:
        request, topics = asked.request, self._context.topics
        check_request(request)
        if request.member_epoch == LEAVE_EPOCH:
            group = self._found(request.group_id)
            sessions.fence(turn, topics, group, group.member(request.member_id).member_id)
            gone = ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVE_EPOCH)
            return Beat(gone, group.epoch, {})
        group = self._found(request.group_id, makes=request.member_epoch == JOIN_EPOCH)
        return heartbeat(turn, topics, group, asked)

    def _again(self, asked: Asked[ShareGroupHeartbeatRequest], turn: Turn, codes: Codes) -> None:
        """Decide anew on the heartbeat of who has waited."""
        self._context.held.release(asked.reply)
        if failed := failures(codes):
            why = "The state of what it reads could not be set up."
            turn.answer(asked.reply, ShareGroupHeartbeatResponse(error_code=told(failed[0]), error_message=why))
            return
        self._beat(turn, asked, holds=False)

    def _set_up(self, group_id: str, topics: Topics, turn: Turn, codes: Codes) -> None:
        """Share coordinators have answered."""
        turn.result.is_only_record = True
        if (group := self._groups.find(ShareGroup, group_id)) is not None:
            states = group.states.finished(done(topics, codes)).failed(topics)
            turn.result.records.append(states_record(group_id, states))

    def _found(self, group_id: str, makes: bool = False) -> ShareGroup:
        group = self._groups.get(group_id)
        if isinstance(group, ShareGroup):
            return group
        if group is None and makes:
            return ShareGroup(group_id)
        why = f"Share group {group_id} not found." if group is None else f"Group {group_id} is not a share group."
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, why)

    def on_timer(self, turn: Turn, group: ShareGroup, key: Hashable) -> None:
        turn.result.is_only_record = True
        match key:
            case (sessions.SESSION_TIMER, _, str(member_id)) if member_id in group.members:
                sessions.fence(turn, self._context.topics, group, member_id)

    # What others ask.

    def _join_classic(self, turn: Turn, asked: Asked[JoinGroupRequest]) -> None:
        turn.result.is_only_record = True
        turn.answer(asked.reply, join_refused("", ErrorCode.INCONSISTENT_GROUP_PROTOCOL))

    def admit_commit(self, turn: Turn, group: ShareGroup, committer: Committer) -> None:
        group.check_offset_delete()

    def admit_fetch(self, group: ShareGroup, member_id: str | None, epoch: int) -> None:
        group.check_offset_delete()

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """Groups that read what has come, grown or gone get their next epoch without being asked."""
        changed = changes.grown | changes.removed.keys()
        gone = frozenset(changes.removed.values())
        if not changed:
            return []
        return [partial(self._looked_at, group_ids, changed, gone) for group_ids in self._groups.slices()]

    def _looked_at(self, group_ids: list[str], changed: frozenset[str], gone: frozenset[bytes], now_ms: int) -> Result:
        turn = self._context.turn(now_ms)
        turn.result.is_only_record = True
        for group in filter(None, (self._groups.find(ShareGroup, each) for each in group_ids)):
            states = group.states
            if not gone.isdisjoint([*states.initializing, *states.initialized, *states.deleting]):
                turn.result.records.append(states_record(group.group_id, states.gone(gone)))
            if not group.is_empty and not changed.isdisjoint(group.subscribers):
                found = metadata_hash(self._context.topics, group.subscribers)
                if found != group.metadata_hash:
                    turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, found))
            if turn.has_swept_enough():
                break
        return turn.result

    def listed(self, group: ShareGroup) -> ListedGroup:
        return listed(group)

    def tombstones(self, group: ShareGroup) -> list[KeyValue]:
        return group_tombstones(group)

    def _describe(self, turn: Turn, asked: Asked[ShareGroupDescribeRequest]) -> None:
        groups = [describe(self._context.topics, each, self._groups.get(each)) for each in asked.request.group_ids]
        turn.answer(asked.reply, ShareGroupDescribeResponse(groups=groups))

    # Offsets, and what goes with the group.

    def forget_elsewhere(self, turn: Turn, group: ShareGroup, then: Callable[[Turn, ErrorCode], None]) -> bool:
        """Whether share coordinators are asked to delete what they keep of it; `then` hears how that went."""
        topics = deletable(self._context.topics, group)
        if not topics:
            return False
        self._delete_states(turn, group, topics, then)
        return True

    def _delete_states(
        self, turn: Turn, group: ShareGroup, topics: Topics, then: Callable[[Turn, ErrorCode], None]
    ) -> None:
        names = {topic_id: each.name for topic_id, each in topics.items()}
        turn.result.records.append(states_record(group.group_id, group.states.deleted(names)))

        def tell(turn: Turn, codes: Codes) -> None:
            then(turn, next(iter(failures(codes)), ErrorCode.NONE))

        self._ask(turn, delete_request(group.group_id, topics), (partial(self._deleted, group.group_id, topics), tell))

    def _deleted(self, group_id: str, topics: Topics, turn: Turn, codes: Codes) -> None:
        turn.result.is_only_record = True
        if (group := self._groups.find(ShareGroup, group_id)) is not None:
            over = (ErrorCode.NONE, GONE)
            gone = [
                topic_id
                for topic_id, (_, partitions) in topics.items()
                if all(codes.get((topic_id, each)) in over for each in partitions)
            ]
            turn.result.records.append(states_record(group_id, group.states.forgotten(gone)))

    def _alter(self, turn: Turn, asked: Asked[AlterShareGroupOffsetsRequest]) -> None:
        """A group's next epoch, so that leaders who know of an earlier one are refused."""
        turn.result.is_only_record = True
        request, lookup = asked.request, self._context.topics
        try:
            group = self._found(request.group_id, makes=True)
            group.check_delete()
        except ApiError as error:
            refused = AlterShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)
            turn.answer(asked.reply, refused)
            return
        topics, starts = admin.wanted_starts(lookup, request)
        if not topics:
            turn.answer(asked.reply, admin.altered(lookup, request, {}))
            return
        epoch = group.epoch + 1
        turn.result.records.append(epoch_record(request.group_id, epoch, group.metadata_hash))
        turn.result.records.append(states_record(request.group_id, group.states.begun(topics)))

        def tell(turn: Turn, codes: Codes) -> None:
            self._context.held.release(asked.reply)
            turn.answer(asked.reply, admin.altered(lookup, request, codes))

        steps = (partial(self._set_up, request.group_id, topics), tell)
        self._ask(turn, initialize_request(request.group_id, epoch, topics, starts), steps)
        self._hold(turn, asked.reply, AlterShareGroupOffsetsResponse())

    def _delete_offsets(self, turn: Turn, asked: Asked[DeleteShareGroupOffsetsRequest]) -> None:
        turn.result.is_only_record = True
        request, lookup = asked.request, self._context.topics
        try:
            group = self._found(request.group_id)
            group.check_delete()
        except ApiError as error:
            refused = DeleteShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)
            turn.answer(asked.reply, refused)
            return
        topics = admin.deletable_topics(lookup, group, request)
        if not topics:
            turn.answer(asked.reply, admin.deleted(lookup, request, topics, ErrorCode.NONE))
            return

        def then(turn: Turn, code: ErrorCode) -> None:
            self._context.held.release(asked.reply)
            turn.answer(asked.reply, admin.deleted(lookup, request, topics, code))

        self._delete_states(turn, group, topics, then)
        self._hold(turn, asked.reply, DeleteShareGroupOffsetsResponse())

    # Inside.

    def _ask(self, turn: Turn, request: Request, steps: tuple[Step, ...]) -> None:
        turn.result.replies.append((self._context.keeper, StateDue(request, steps)))

    def _hold(self, turn: Turn, reply: Reply, refusal: Message) -> None:
        """Where the log takes nothing, it is the machine that knows who waits."""
        turn.result.is_only_record = False
        self._context.held.hold(reply, refusal)
