"""Committed offsets as a part of a shard: whatever kind a group is of, its offsets are kept alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.context import ShardContext
from penstock.core.groups.group import Group
from penstock.core.groups.kinds import Answer, Committer, Kind
from penstock.core.groups.offsets.commit import commit
from penstock.core.groups.offsets.delete import delete, delete_all, delete_expired, delete_of_topics
from penstock.core.groups.offsets.fetch import fetch
from penstock.core.groups.offsets.pending import NOTHING_PENDING
from penstock.core.groups.offsets.records import (
    OFFSET_COMMIT_TYPES,
    decode_offset_key,
    decode_offset_value,
)
from penstock.core.groups.offsets.store import OffsetStore
from penstock.core.groups.offsets.transactional import OUTSIDE_VERSION, inside_of_transaction, outside_of_transaction
from penstock.core.groups.records import tag_of
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import Result, Transaction
from penstock.core.wire import Message
from penstock.core.wire.api.offset_commit import OffsetCommitRequest
from penstock.core.wire.api.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from penstock.core.wire.api.txn_offset_commit import TxnOffsetCommitRequest

MISSING_GROUP_IS_ERROR_FROM: Final = 9
"""Before this version, a commit to a group that does not exist is told that its generation is over."""
_TOLD_IN_TRANSACTION: Final = {ErrorCode.STALE_MEMBER_EPOCH: ErrorCode.ILLEGAL_GENERATION}
"""Producers do not know the epochs of members."""


class OffsetsPart:
    """The offsets of one shard's groups. Nobody waits for anybody here: what is on record changes, or nothing."""

    record_types: Final = OFFSET_COMMIT_TYPES

    def __init__(
        self,
        context: ShardContext,
        store: OffsetStore,
        kind_of: Callable[[Group], Kind[Any]],
        simple: Callable[[str, int], Group],
    ) -> None:
        """`simple` makes a group of offsets only, by its id and the time."""
        self._context = context
        self._store = store
        self._kind_of = kind_of
        self._simple = simple
        self.pending = NOTHING_PENDING
        """Known once the log has been read."""
        self.answers: Mapping[type[Message], Answer] = {
            OffsetCommitRequest: self._commit,
            TxnOffsetCommitRequest: self._commit_in_transaction,
            OffsetFetchRequest: self._fetch,
            OffsetDeleteRequest: self._delete,
        }

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        where = decode_offset_key(key)
        if value is None:
            self._store.remove(where.group, where.topic, where.partition)
            return
        self._known(where.group, now_ms)
        self._store.put(where.group, where.topic, where.partition, decode_offset_value(value))

    def waits(self, key: bytes, now_ms: int) -> None:
        """A group is there from the first offset on that it may have."""
        if tag_of(key) in self.record_types:
            self._known(decode_offset_key(key).group, now_ms)

    def _known(self, group_id: str, now_ms: int) -> None:
        if group_id not in self._context.groups:
            self._context.groups.put(self._simple(group_id, now_ms))

    # Requests.

    def _commit(self, turn: Turn, asked: Asked[OffsetCommitRequest]) -> None:
        turn.result.is_only_record = True
        refusal = ErrorCode.NONE
        try:
            self._admit(turn, asked.request, asked.version)
        except ApiError as error:
            refusal = error.code
        turn.answer(asked.reply, commit(turn, self._context.topics, asked.request, asked.version, refusal))

    def _commit_in_transaction(self, turn: Turn, asked: Asked[TxnOffsetCommitRequest]) -> None:
        """The same, for those whom the log lets write: what they say counts when their transaction is committed."""
        turn.result.is_only_record = True
        turn.result.transaction = Transaction(asked.request.producer_id, asked.request.producer_epoch)
        request, refusal = outside_of_transaction(asked.request), ErrorCode.NONE
        try:
            self._admit(turn, request, asked.version, in_transaction=True)
        except ApiError as error:
            refusal = _TOLD_IN_TRANSACTION.get(error.code, error.code)
        answer = commit(turn, self._context.topics, request, OUTSIDE_VERSION, refusal)
        turn.answer(asked.reply, inside_of_transaction(answer))

    def _admit(self, turn: Turn, request: OffsetCommitRequest, version: int, in_transaction: bool = False) -> None:
        epoch = request.generation_id_or_member_epoch
        group = self._context.groups.get(request.group_id)
        if group is not None:
            committer = Committer(request.member_id, request.group_instance_id, epoch, version, in_transaction)
            self._kind_of(group).admit_commit(turn, group, committer)
        elif epoch >= 0:
            missing = version >= MISSING_GROUP_IS_ERROR_FROM
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND if missing else ErrorCode.ILLEGAL_GENERATION)

    def _fetch(self, turn: Turn, asked: Asked[OffsetFetchRequest]) -> None:
        """Takes and gives the shape of version 8 and up, with a list of groups; see `fanout`."""
        request, topics = asked.request, self._context.topics
        is_unstable = self.pending.has if request.require_stable and self.pending else None
        refused = [self._refused_fetch(wanted) for wanted in request.groups]
        groups = [
            fetch(self._store, topics, wanted, asked.version, is_unstable)
            if code is ErrorCode.NONE
            else OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=code)
            for wanted, code in zip(request.groups, refused, strict=True)
        ]
        turn.answer(asked.reply, OffsetFetchResponse(groups=groups))

    def _refused_fetch(self, wanted: OffsetFetchRequestGroup) -> ErrorCode:
        group = self._context.groups.get(wanted.group_id)
        if group is not None:
            try:
                self._kind_of(group).admit_fetch(group, wanted.member_id, wanted.member_epoch)
            except ApiError as error:
                return error.code
        return ErrorCode.NONE

    def _delete(self, turn: Turn, asked: Asked[OffsetDeleteRequest]) -> None:
        turn.result.is_only_record = True
        request = asked.request
        try:
            group = self._existing(request.group_id)
            group.check_offset_delete()
        except ApiError as error:
            turn.answer(asked.reply, OffsetDeleteResponse(error_code=error.code))
        else:
            turn.answer(asked.reply, delete(turn, self._store, self.pending, self._context.topics, group, request))

    def _existing(self, group_id: str) -> Group:
        if not group_id:
            raise ApiError(ErrorCode.INVALID_GROUP_ID)
        group = self._context.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        return group

    # What goes without anybody's asking.

    def delete_all(self, turn: Turn, group_id: str) -> None:
        """A group goes with its offsets."""
        delete_all(turn, self._store, self.pending, group_id)

    def topics_changed(self, changes: TopicChanges) -> Iterator[Decision]:
        """Offsets of a topic that is gone go with it."""
        if changes.removed:
            yield from self._sweep(lambda turn, ids: delete_of_topics(turn, self._store, changes.removed, ids))

    def expired(self) -> Iterator[Decision]:
        """Offsets past their retention go, and groups that are empty and have none left."""
        return self._sweep(self._expire)

    def _expire(self, turn: Turn, group_ids: Iterable[str]) -> None:
        for group in filter(None, map(self._context.groups.get, group_ids)):
            nothing_left = delete_expired(turn, self._store, self.pending, group)
            if nothing_left and group.is_empty and group.expires:
                turn.result.records += self._kind_of(group).tombstones(group)
            if turn.has_swept_enough():
                break

    def _sweep(self, find: Callable[[Turn, list[str]], None]) -> Iterator[Decision]:
        """Some groups at a time. They can have more to remove than one batch should hold: repeat each decision until
        nothing comes of it."""
        for group_ids in self._context.groups.slices():
            yield partial(self._decide, find, group_ids)

    def _decide(self, find: Callable[[Turn, list[str]], None], group_ids: list[str], now_ms: int) -> Result:
        turn = self._context.turn(now_ms)
        turn.result.is_only_record = True
        find(turn, group_ids)
        return turn.result
