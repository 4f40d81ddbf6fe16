"""A kind of groups that exists for tests only: as small as a kind can be, with a package's worth of seams.

Its members are guests: each comes with a ConsumerGroupHeartbeat, is on record, and goes when silent for a session.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.records import group_tombstone
from penstock.core.groups.context import ShardContext
from penstock.core.groups.kinds import Answer, Committer
from penstock.core.groups.turn import Turn
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import KeyValue, Result
from penstock.core.wire import Message
from penstock.core.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.list_groups import ListedGroup

GUESTS_TYPE = 99
SESSION_MS = 10_000


def guests_record(group_id: str, guests: Iterable[str]) -> KeyValue:
    return GUESTS_TYPE.to_bytes(2, "big") + group_id.encode(), ",".join(guests).encode()


def guests_tombstone(group_id: str) -> KeyValue:
    return guests_record(group_id, ())[0], None


class GuestGroup:
    kind = "guests"
    expires = True

    def __init__(self, group_id: str, guests: list[str]) -> None:
        self.group_id = group_id
        self.guests = guests
        self.knows = 0
        """How many changes of topics it has been told."""

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.guests))

    @property
    def is_empty(self) -> bool:
        return not self.guests

    def check_offset_delete(self) -> None:
        """Always welcome."""

    def check_delete(self) -> None:
        if self.guests:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        return False

    def offset_age_begins_ms(self, committed_ms: int) -> int | None:
        return committed_ms


class GuestsKind:
    name = GuestGroup.kind
    record_types = (GUESTS_TYPE,)

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self.changes: list[TopicChanges] = []
        self.answers: Mapping[type[Message], Answer] = {
            ConsumerGroupHeartbeatRequest: self._guest,
            HeartbeatRequest: self._classic_heartbeat,
        }

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        group_id = key[2:].decode()
        group = self._context.groups.find(GuestGroup, group_id)
        if value is not None:
            self._context.groups.put(GuestGroup(group_id, [each for each in value.decode().split(",") if each]))
        elif group is not None:
            del self._context.groups[group_id]

    def loaded(self, turn: Turn, group: GuestGroup) -> None:
        for guest in group.guests:
            self._expect(turn, group.group_id, guest)

    def on_timer(self, turn: Turn, group: GuestGroup, key: Hashable) -> None:
        assert isinstance(key, tuple)
        turn.result.records.append(guests_record(group.group_id, [each for each in group.guests if each != key[2]]))

    def lose(self, turn: Turn, group: GuestGroup, code: ErrorCode) -> None:
        for guest in group.guests:
            turn.timers.cancel(("session", group.group_id, guest))

    def admit_commit(self, turn: Turn, group: GuestGroup, committer: Committer) -> None:
        if committer.member_id not in group.guests:
            raise ApiError(ErrorCode.STALE_MEMBER_EPOCH)

    def forget_elsewhere(self, turn: Turn, group: GuestGroup, then: Callable[[Turn, ErrorCode], None]) -> bool:
        return False

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        """It remembers at once, and writes each group down anew."""
        self.changes.append(changes)
        return self._rewritten()

    def _rewritten(self) -> Iterator[Decision]:
        for group_id in list(self._context.groups):
            group = self._context.groups.find(GuestGroup, group_id)
            if group is not None:
                yield lambda now_ms, group=group: self._rewrite(group)  # type: ignore[misc]

    def _rewrite(self, group: GuestGroup) -> Result:
        group.knows += 1
        return Result([guests_record(group.group_id, group.guests)] if group.knows == 1 else [])

    def admit_fetch(self, group: GuestGroup, member_id: str | None, epoch: int) -> None:
        """Everybody may."""

    def listed(self, group: GuestGroup) -> ListedGroup:
        return ListedGroup(group_id=group.group_id, group_state="Open", group_type=group.kind)

    def tombstones(self, group: GuestGroup) -> list[KeyValue]:
        return [guests_tombstone(group.group_id)]

    def _guest(self, turn: Turn, asked: Asked[ConsumerGroupHeartbeatRequest]) -> None:
        group_id, guest = asked.request.group_id, asked.request.member_id
        known = self._context.groups.get(group_id)
        if known is not None and not known.is_empty and known.kind != self.name:
            turn.answer(asked.reply, ConsumerGroupHeartbeatResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND))
            return
        if isinstance(known, ClassicGroup):
            turn.result.records.append(group_tombstone(group_id))
        guests = [*known.guests, guest] if isinstance(known, GuestGroup) else [guest]
        turn.result.records.append(guests_record(group_id, guests))
        self._expect(turn, group_id, guest)
        turn.answer(asked.reply, ConsumerGroupHeartbeatResponse())

    def _classic_heartbeat(self, turn: Turn, asked: Asked[HeartbeatRequest]) -> None:
        turn.answer(asked.reply, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))

    def _expect(self, turn: Turn, group_id: str, guest: str) -> None:
        turn.timers.set(("session", group_id, guest), turn.now_ms + SESSION_MS)
