"""One event being handled: what time it is, what may be asked for, and what has been decided so far."""

from __future__ import annotations

from typing import Final

from penstock.core.base.values import fresh, mutable
from penstock.core.groups.counts import GroupCounts
from penstock.core.groups.member_memory import MemberMemory
from penstock.core.groups.parked_replies import ParkedReplies, ParkedReply
from penstock.core.groups.settings import GroupSettings
from penstock.core.rsm.result import Reply, Result, Timers
from penstock.core.wire import Message

RECORD_BYTES_MIN: Final = 7
"""Of a record without key and value."""


@mutable
class Turn:
    """Passed down through the rules of one event, and thrown away after it."""

    now_ms: int
    settings: GroupSettings
    timers: Timers
    room: ParkedReplies
    memory: MemberMemory
    counts: GroupCounts
    result: Result = fresh(default_factory=Result)

    def has_swept_enough(self) -> bool:
        return len(self.result.records) >= self.settings.sweep_records_max

    def is_too_large(self) -> bool:
        """Whether the records are more than one batch may hold: Kafka answers that with UNKNOWN_SERVER_ERROR."""
        size = sum(RECORD_BYTES_MIN + len(key) + len(value or b"") for key, value in self.result.records)
        return size > self.settings.batch_bytes_max

    def answer(self, reply: Reply, response: Message) -> None:
        self.result.replies.append((reply, response))

    def answer_seat(self, seat: ParkedReply, response: Message) -> None:
        """Answer a parked request, unless its connection is gone."""
        if seat.reply is not None:
            self.answer(seat.reply, response)
