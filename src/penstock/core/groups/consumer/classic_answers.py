"""The requests of the classic protocol that a group hears whose coordinator assigns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Entropy
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.join import join
from penstock.core.groups.classic.joiner import Joiner
from penstock.core.groups.classic.replies import join_refused, sync_refused
from penstock.core.groups.consumer import classic_calls, classic_join, sessions
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.records import group_tombstones
from penstock.core.groups.context import ShardContext
from penstock.core.groups.kinds import Answer
from penstock.core.groups.turn import Turn
from penstock.core.wire import Message
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.join_group import JoinGroupRequest
from penstock.core.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse
from penstock.core.wire.api.sync_group import SyncGroupRequest

_ID_BYTES: Final = 16


def new_id(entropy: Entropy) -> str:
    """For a member that has none."""
    return entropy.bytes(_ID_BYTES).hex()


class ClassicAnswers:
    """Of one shard."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self.answers: Mapping[type[Message], Answer] = {
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._heartbeat,
            LeaveGroupRequest: self._leave,
        }

    def _join(self, turn: Turn, asked: Asked[JoinGroupRequest]) -> None:
        """Whoever comes with the other protocol is one of us, or finds a classic group once nobody is left here."""
        joiner, topics = Joiner.of(asked), self._context.topics
        group = self._context.groups.find(ConsumerGroup, asked.request.group_id)
        if group is None or group.is_empty:
            if group is not None:
                sessions.end_all(turn, group)
                turn.result.records += group_tombstones(group)
                self._context.groups.put(ClassicGroup(group.group_id, turn.now_ms))
            join(turn, self._context.groups, joiner, self._context.entropy)
            return
        found = partial(classic_join.join, turn, topics, group, joiner, new_id(self._context.entropy))
        self._answer(turn, asked, found, partial(join_refused, joiner.member_id))

    def _sync(self, turn: Turn, asked: Asked[SyncGroupRequest]) -> None:
        found = partial(classic_calls.sync, turn, self._context.topics, self._here(asked), asked.request)
        self._answer(turn, asked, found, sync_refused)

    def _heartbeat(self, turn: Turn, asked: Asked[HeartbeatRequest]) -> None:
        """Whether it has to join again or not, its word may make the next target."""
        turn.result.is_only_record = True
        code = ErrorCode.NONE
        try:
            classic_calls.heartbeat(turn, self._context.topics, self._here(asked), asked.request)
        except ApiError as error:
            code = error.code
        if turn.is_too_large():
            turn.result.records.clear()
            code = ErrorCode.UNKNOWN_SERVER_ERROR
        turn.answer(asked.reply, HeartbeatResponse(error_code=code))

    def _leave(self, turn: Turn, asked: Asked[LeaveGroupRequest]) -> None:
        group, topics = self._here(asked), self._context.topics
        found = partial(classic_calls.leave, turn, topics, group, asked.request, asked.version)
        self._answer(turn, asked, found, lambda code: LeaveGroupResponse(error_code=code))

    def _here(self, asked: Asked[Any]) -> ConsumerGroup:
        group = self._context.groups.find(ConsumerGroup, asked.request.group_id)
        assert group is not None, "such requests come here only for groups of ours"
        return group

    def _answer(
        self, turn: Turn, asked: Asked[Any], found: Callable[[], Message], refused: Callable[[ErrorCode], Message]
    ) -> None:
        turn.result.is_only_record = True
        try:
            response = found()
            if turn.is_too_large():
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        except ApiError as error:
            turn.result.records.clear()
            response = refused(error.code)
        turn.answer(asked.reply, response)
