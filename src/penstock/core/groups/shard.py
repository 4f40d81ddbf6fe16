"""The machine in charge of the groups of one partition of `__consumer_offsets`: a router over its parts.

Every request becomes a `Result`. Its records are appended and replayed here in the same turn, before the next call; its
replies leave when the records are committed. A request may leave its reply parked, and then it comes out of the
`Result` of a later request or timer.

Timer keys are unique within one shard only; who owns several shards tells their keys apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import chain
from typing import Any, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Entropy, Pause, Steps
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.kind import ClassicKind
from penstock.core.groups.consumer.kind import ConsumerKind
from penstock.core.groups.context import ShardContext
from penstock.core.groups.counts import GroupCounts
from penstock.core.groups.group import Group
from penstock.core.groups.kinds import Answer, Kind, Part
from penstock.core.groups.listing import filtered
from penstock.core.groups.member_memory import MemberMemory
from penstock.core.groups.offsets.part import OffsetsPart
from penstock.core.groups.offsets.pending import PendingOffsets
from penstock.core.groups.offsets.store import OffsetStore
from penstock.core.groups.parked_replies import ParkedReplies
from penstock.core.groups.records import tag_of
from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.share.kind import ShareKind
from penstock.core.groups.streams.kind import StreamsKind
from penstock.core.groups.table import GroupTable
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, OpenTransactions, TopicChanges
from penstock.core.rsm.result import Performer, Replies, Reply, Result, Timers
from penstock.core.wire import Message
from penstock.core.wire.api.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from penstock.core.wire.api.list_groups import ListedGroup, ListGroupsRequest

KINDS: Final[tuple[Callable[[ShardContext], Kind[Any]], ...]] = (ClassicKind, ConsumerKind, ShareKind, StreamsKind)
"""Every kind of groups; what several know how to answer goes to the first, unless the group is of another."""

SIMPLE: Final[Callable[[str, int], Group]] = ClassicGroup
"""What a group is that has offsets and nothing else: that of a consumer that manages its partitions itself."""


class GroupShard:
    """Groups by id, and their offsets."""

    __slots__ = ("_answers", "_context", "_kinds", "_offsets", "_parts", "_replayers", "groups", "offsets")

    def __init__(
        self,
        settings: GroupSettings,
        timers: Timers,
        topics: TopicLookup,
        entropy: Entropy,
        memory: MemberMemory,
        counts: GroupCounts | None = None,
        keeper: Performer | None = None,
    ) -> None:
        self.groups = GroupTable()
        memory.watch(self.groups)
        self.offsets = OffsetStore()
        self._context = ShardContext(
            settings,
            timers,
            topics,
            entropy,
            self.groups,
            ParkedReplies(),
            memory,
            counts or GroupCounts(),
            keeper or Performer(),
        )
        self._kinds: dict[str, Kind[Any]] = {kind.name: kind for kind in [make(self._context) for make in KINDS]}
        self._offsets = OffsetsPart(self._context, self.offsets, self._kind_of, SIMPLE)
        self._parts: tuple[Part, ...] = (*self._kinds.values(), self._offsets)
        self._replayers = {each: part.replay for part in self._parts for each in part.record_types}
        self._answers: dict[type[Message], Answer] = {DeleteGroupsRequest: self._delete_groups}
        for part in reversed(self._parts):
            self._answers.update(part.answers)

    @property
    def parked_count(self) -> int:
        """Requests that wait for other members or coordinators, or for time to pass."""
        return len(self._context.room) + len(self._context.held)

    # The log.

    def at(self, offset: int) -> None:
        """The log is compacted: nothing depends on where a record is."""

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        """Take in one record of the log. Keys of a type we do not know belong to a newer version and are left alone."""
        replayer = self._replayers.get(tag_of(key))
        if replayer is not None:
            replayer(key, value, now_ms)

    def waits(self, key: bytes, now_ms: int) -> None:
        """Only offsets are written in transactions."""
        self._offsets.waits(key, now_ms)

    def begin(self, now_ms: int, transactions: OpenTransactions) -> Steps[None]:
        """The log has been read to its end."""
        self._offsets.pending = PendingOffsets(transactions)
        for group_ids in self.groups.slices():
            self.loaded(now_ms, group_ids)
            yield Pause()

    def loaded(self, now_ms: int, group_ids: Iterable[str]) -> None:
        """From now on the members of these groups are expected to be heard of."""
        turn = self._context.turn(now_ms)
        for group in map(self.groups.__getitem__, group_ids):
            self._kind_of(group).loaded(turn, group)
        assert not turn.result.records, "nobody has been heard of yet, so nothing can be decided while loading"

    def lose(self, code: ErrorCode) -> Replies:
        """This node is no longer in charge, or cannot write: everybody who waits must look for the coordinator."""
        turn = self._context.turn(now_ms=0)
        for group in self.groups.values():
            self._kind_of(group).lose(turn, group, code)
        self.groups.clear()
        self.offsets.clear()
        return turn.result.replies + self._context.held.lose(code)

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """Every part hears of it at once; what there is to write for it comes by and by."""
        return chain.from_iterable([part.topics_changed(changes) for part in self._parts])

    def expire_offsets(self) -> Iterable[Decision]:
        """Let offsets that nobody has used for long enough go."""
        return self._offsets.expired()

    # One group.

    def answer(self, now_ms: int, asked: Asked[Any]) -> Result:
        """Decide on a request of any API that a part knows."""
        turn = self._context.turn(now_ms)
        self._answer_of(asked)(turn, asked)
        return turn.result

    def carry_on(self, now_ms: int, step: Callable[[Turn], None]) -> Result:
        """Other coordinators have answered."""
        turn = self._context.turn(now_ms)
        step(turn)
        return turn.result

    def on_timer(self, now_ms: int, key: Hashable) -> Result:
        """A deadline passed; timers of groups that are gone mean nothing."""
        turn = self._context.turn(now_ms)
        match key:
            case (_, str(group_id), *_) if (group := self.groups.get(group_id)) is not None:
                self._kind_of(group).on_timer(turn, group, key)
        return turn.result

    def dropped(self, reply: Reply) -> None:
        """The connection behind a request closed; its answer will not come out any more."""
        self._context.room.dropped(reply)

    # All groups.

    def list_groups(self, request: ListGroupsRequest, group_ids: Iterable[str]) -> list[ListedGroup]:
        """A part of the answer: those of these groups that are asked for."""
        groups = filter(None, map(self.groups.get, group_ids))
        return filtered((self._kind_of(group).listed(group) for group in groups), request)

    def _delete_groups(self, turn: Turn, asked: Asked[DeleteGroupsRequest]) -> None:
        self._go_on_deleting(turn, asked, {})

    def _go_on_deleting(self, turn: Turn, asked: Asked[DeleteGroupsRequest], failed: Mapping[str, ErrorCode]) -> None:
        """One group after the other gives up what it has elsewhere; then all go that may."""
        group_ids = list(dict.fromkeys(asked.request.groups_names))
        turn.result.is_only_record = True
        for group_id in group_ids:
            if group_id not in failed and self._asks_elsewhere(turn, asked, group_id, failed):
                return
        self._context.held.release(asked.reply)
        results = [
            DeletableGroupResult(group_id=each, error_code=failed.get(each) or self._delete_group(turn, each))
            for each in group_ids
        ]
        turn.answer(asked.reply, DeleteGroupsResponse(results=results))

    def _asks_elsewhere(
        self, turn: Turn, asked: Asked[DeleteGroupsRequest], group_id: str, failed: Mapping[str, ErrorCode]
    ) -> bool:
        group = self.groups.get(group_id)
        if group is None or not group.is_empty:
            return False

        def then(turn: Turn, code: ErrorCode) -> None:
            self._go_on_deleting(turn, asked, {**failed, group_id: code} if code is not ErrorCode.NONE else failed)

        if not self._kind_of(group).forget_elsewhere(turn, group, then):
            return False
        # Where the log takes nothing, it is the machine that knows who waits.
        turn.result.is_only_record = False
        refusals = [DeletableGroupResult(group_id=each) for each in asked.request.groups_names]
        self._context.held.hold(asked.reply, DeleteGroupsResponse(results=refusals))
        return True

    def _delete_group(self, turn: Turn, group_id: str) -> ErrorCode:
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        try:
            group.check_delete()
        except ApiError as error:
            return error.code
        self._offsets.delete_all(turn, group_id)
        turn.result.records += self._kind_of(group).tombstones(group)
        return ErrorCode.NONE

    # Inside.

    def _kind_of(self, group: Group) -> Kind[Any]:
        return self._kinds[group.kind]

    def _answer_of(self, asked: Asked[Any]) -> Answer:
        wanted = type(asked.request)
        group = None if asked.group_id is None else self.groups.get(asked.group_id)
        own = None if group is None else self._kind_of(group).answers.get(wanted)
        return self._answers[wanted] if own is None else own
