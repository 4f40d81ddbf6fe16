"""One event being handled: what time it is, what may be asked for, and what has been decided so far."""

from __future__ import annotations

from penstock.core.base.values import fresh, mutable
from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.waiting import Seat, WaitingRoom
from penstock.core.rsm.result import Reply, Result, Timers
from penstock.core.wire import Message


@mutable
class Turn:
    """Passed down through the rules of one event, and thrown away after it."""

    now_ms: int
    settings: GroupSettings
    timers: Timers
    room: WaitingRoom
    result: Result = fresh(default_factory=Result)

    def has_swept_enough(self) -> bool:
        return len(self.result.records) >= self.settings.sweep_records_max

    def answer(self, reply: Reply, response: Message) -> None:
        self.result.replies.append((reply, response))

    def answer_seat(self, seat: Seat, response: Message) -> None:
        """Answer a parked request, unless its connection is gone."""
        if seat.reply is not None:
            self.answer(seat.reply, response)
