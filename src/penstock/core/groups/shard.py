"""The machine in charge of the groups of one partition of `__consumer_offsets`.

Every request becomes a `Result`. Its records are appended and replayed here in the same turn, before the next call; its
replies leave when the records are committed. A join or sync may leave its reply parked, and then it comes out of the
`Result` of a later request or timer.

Timer keys are unique within one shard only; who owns several shards tells their keys apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Entropy
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
    recorded,
    restored,
)
from penstock.core.groups.classic.replies import join_refused, sync_refused
from penstock.core.groups.classic.states import State
from penstock.core.groups.classic.sync import sync
from penstock.core.groups.offsets.commit import commit
from penstock.core.groups.offsets.delete import delete, delete_all, delete_expired, delete_of_topic
from penstock.core.groups.offsets.fetch import fetch
from penstock.core.groups.offsets.records import OFFSET_COMMIT_TYPES, decode_offset_key, decode_offset_value
from penstock.core.groups.offsets.store import OffsetStore
from penstock.core.groups.records import tag_of
from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.groups.waiting import WaitingRoom
from penstock.core.rsm.result import Reply, Result, Timers
from penstock.core.wire import Message
from penstock.core.wire.api.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest
from penstock.core.wire.api.leave_group import LeaveGroupRequest
from penstock.core.wire.api.list_groups import ListedGroup, ListGroupsRequest
from penstock.core.wire.api.offset_commit import OffsetCommitRequest
from penstock.core.wire.api.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from penstock.core.wire.api.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from penstock.core.wire.api.sync_group import SyncGroupRequest

# Before this version, a commit to a group that does not exist is told that its generation is over.
MISSING_GROUP_IS_ERROR_FROM = 9


class GroupShard:
    """Groups by id, and their offsets."""

    __slots__ = ("_entropy", "_room", "_serving", "_settings", "_timers", "_topics", "groups", "offsets")

    def __init__(self, settings: GroupSettings, timers: Timers, topics: TopicLookup, entropy: Entropy) -> None:
        self._settings = settings
        self._timers = timers
        self._topics = topics
        self._entropy = entropy
        self._room = WaitingRoom()
        self._serving = False
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = OffsetStore()

    @property
    def parked_count(self) -> int:
        """Requests that wait for other members or for time to pass."""
        return len(self._room)

    # The log.

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        """Take in one record of the log. Keys of a type we do not know belong to a newer version and are left alone."""
        key_type = tag_of(key)
        if key_type in OFFSET_COMMIT_TYPES:
            self._replay_offset(key, value, now_ms)
        elif key_type == GROUP_METADATA_TYPE:
            self._replay_group(key, value, now_ms)

    def loaded(self, now_ms: int, group_ids: Iterable[str]) -> None:
        """The log has been read to its end: from now on the members of these groups are expected to be heard of."""
        self._serving = True
        turn = self._turn(now_ms)
        for group in map(self.groups.__getitem__, group_ids):
            for member in group.members.values():
                sessions.keep_alive(turn, group, member)
            if len(group.members) > self._settings.group_members_max:
                rebalance.prepare(turn, group)
        assert not turn.result.records, "nobody has joined yet, so no rebalance can complete while loading"

    def lose(self) -> list[tuple[Reply, Message]]:
        """This node is no longer in charge, or cannot write: everybody who waits must look for the coordinator."""
        turn = self._turn(now_ms=0)
        for group in self.groups.values():
            for member_id in list(group.joining):
                if seat := self._room.rise(group.joining, member_id):
                    turn.answer_seat(seat, join_refused(member_id, ErrorCode.NOT_COORDINATOR))
            for member_id in list(group.syncing):
                if seat := self._room.rise(group.syncing, member_id):
                    turn.answer_seat(seat, sync_refused(ErrorCode.NOT_COORDINATOR))
            self._cancel_timers(turn, group)
        self.groups.clear()
        self.offsets = OffsetStore()
        self._serving = False
        return turn.result.replies

    def dropped(self, reply: Reply) -> None:
        """The connection behind a request closed; its answer will not come out any more."""
        self._room.dropped(reply)

    # Membership.

    def join_group(
        self, now_ms: int, request: JoinGroupRequest, version: int, client_id: str, client_host: str, reply: Reply
    ) -> Result:
        turn = self._turn(now_ms)
        join(turn, self.groups, Joiner.of(request, version, client_id, client_host, reply), self._entropy)
        return turn.result

    def sync_group(self, now_ms: int, request: SyncGroupRequest, version: int, reply: Reply) -> Result:
        turn = self._turn(now_ms)
        sync(turn, self.groups.get(request.group_id), request, version, reply)
        return turn.result

    def heartbeat(self, now_ms: int, request: HeartbeatRequest, version: int, reply: Reply) -> Result:
        turn = self._turn(now_ms)
        turn.answer(reply, heartbeat(turn, self.groups.get(request.group_id), request))
        return turn.result

    def leave_group(self, now_ms: int, request: LeaveGroupRequest, version: int, reply: Reply) -> Result:
        turn = self._turn(now_ms)
        turn.answer(reply, leave(turn, self.groups.get(request.group_id), request, version))
        return turn.result

    def on_timer(self, now_ms: int, key: Hashable) -> Result:
        """A deadline passed; timers of groups that are gone mean nothing."""
        turn = self._turn(now_ms)
        match key:
            case (sessions.SESSION_TIMER, str(group_id), str(member_id)) if group_id in self.groups:
                rebalance.on_session_timer(turn, self.groups[group_id], member_id)
            case (rebalance.JOIN_TIMER, str(group_id)) if group_id in self.groups:
                rebalance.on_join_timer(turn, self.groups[group_id])
            case (rebalance.SYNC_TIMER, str(group_id)) if group_id in self.groups:
                rebalance.on_sync_timer(turn, self.groups[group_id])
        return turn.result

    # Offsets.

    def offset_commit(self, now_ms: int, request: OffsetCommitRequest, version: int, reply: Reply) -> Result:
        turn = self._turn(now_ms)
        refusal = ErrorCode.NONE
        try:
            self._admit_commit(turn, request, version)
        except ApiError as error:
            refusal = error.code
        turn.answer(reply, commit(turn, self._topics, request, version, refusal))
        return turn.result

    def offset_fetch(self, now_ms: int, request: OffsetFetchRequest, version: int, reply: Reply) -> Result:
        """Takes and gives the shape of version 8 and up, with a list of groups; see `fanout`."""
        turn = self._turn(now_ms)
        groups = [fetch(self.offsets, self._topics, wanted, version) for wanted in request.groups]
        turn.answer(reply, OffsetFetchResponse(groups=groups))
        return turn.result

    def offset_delete(self, now_ms: int, request: OffsetDeleteRequest, version: int, reply: Reply) -> Result:
        turn = self._turn(now_ms)
        try:
            if not request.group_id:
                raise ApiError(ErrorCode.INVALID_GROUP_ID)
            group = self._existing(request.group_id)
            group.check_offset_delete()
        except ApiError as error:
            turn.answer(reply, OffsetDeleteResponse(error_code=error.code))
        else:
            turn.answer(reply, delete(turn, self.offsets, self._topics, group, request))
        return turn.result

    def expire_offsets(self, now_ms: int, group_ids: Iterable[str]) -> Result:
        """Drop offsets of these groups past their retention, and those that are empty and have none left.

        A sweep can find more than one batch should hold: call again until nothing comes back.
        """
        turn = self._turn(now_ms)
        for group in filter(None, map(self.groups.get, group_ids)):
            nothing_left = delete_expired(turn, self.offsets, group)
            if nothing_left and group.is_empty:
                turn.result.records.append(group_tombstone(group.group_id))
            if turn.has_swept_enough():
                break
        return turn.result

    def topic_deleted(self, now_ms: int, topic: str, topic_id: bytes, group_ids: Iterable[str]) -> Result:
        """Drop the offsets of these groups in a topic that is gone; call again until nothing comes back."""
        turn = self._turn(now_ms)
        delete_of_topic(turn, self.offsets, topic, topic_id, group_ids)
        return turn.result

    # Administration.

    def describe_groups(self, now_ms: int, request: DescribeGroupsRequest, version: int, reply: Reply) -> Result:
        turn = self._turn(now_ms)
        groups = [describe(group_id, self.groups.get(group_id), version) for group_id in request.groups]
        turn.answer(reply, DescribeGroupsResponse(groups=groups))
        return turn.result

    def list_groups(self, request: ListGroupsRequest, group_ids: Iterable[str]) -> list[ListedGroup]:
        """A part of the answer: those of these groups that are asked for."""
        return listed(filter(None, map(self.groups.get, group_ids)), request)

    def delete_groups(self, now_ms: int, request: DeleteGroupsRequest, version: int, reply: Reply) -> Result:
        turn = self._turn(now_ms)
        results = [
            DeletableGroupResult(group_id=group_id, error_code=self._delete_group(turn, group_id))
            for group_id in dict.fromkeys(request.groups_names)
        ]
        turn.answer(reply, DeleteGroupsResponse(results=results))
        return turn.result

    # Inside.

    def _turn(self, now_ms: int) -> Turn:
        return Turn(now_ms, self._settings, self._timers, self._room)

    def _existing(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        return group

    def _admit_commit(self, turn: Turn, request: OffsetCommitRequest, version: int) -> None:
        """Whether the group lets this sender commit; a member that commits is alive."""
        member_id, generation = request.member_id, request.generation_id_or_member_epoch
        group = self.groups.get(request.group_id)
        if group is None:
            if generation >= 0:
                missing = version >= MISSING_GROUP_IS_ERROR_FROM
                raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND if missing else ErrorCode.ILLEGAL_GENERATION)
            return
        group.check_commit(member_id, request.group_instance_id, generation)
        if member_id in group.members:
            sessions.keep_alive(turn, group, group.members[member_id])

    def _delete_group(self, turn: Turn, group_id: str) -> ErrorCode:
        try:
            self._existing(group_id).check_delete()
        except ApiError as error:
            return error.code
        delete_all(turn, self.offsets, group_id)
        turn.result.records.append(group_tombstone(group_id))
        return ErrorCode.NONE

    def _replay_offset(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        where = decode_offset_key(key)
        if value is None:
            self.offsets.remove(where.group, where.topic, where.partition)
            return
        if where.group not in self.groups:
            # Offsets of a consumer that manages its partitions itself: a group that never has members.
            self.groups[where.group] = ClassicGroup(where.group, now_ms)
        self.offsets.put(where.group, where.topic, where.partition, decode_offset_value(value))

    def _replay_group(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        group_id = decode_group_key(key)
        group = self.groups.get(group_id)
        if value is None:
            if group is not None:
                del self.groups[group_id]
                group.move_to(State.DEAD, now_ms)
                self._cancel_timers(self._turn(now_ms), group)
        elif group is not None and self._serving:
            recorded(group, decode_group_value(value), now_ms)
        else:
            self.groups[group_id] = restored(group_id, decode_group_value(value))

    def _cancel_timers(self, turn: Turn, group: ClassicGroup) -> None:
        turn.timers.cancel(rebalance.join_key(group.group_id))
        turn.timers.cancel(rebalance.sync_key(group.group_id))
        for member_id in [*group.members, *sorted(group.pending)]:
            sessions.end(turn, group, member_id)
