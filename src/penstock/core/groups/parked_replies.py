"""Parked requests: who sits where, and how one is found again when its connection closes.

A seat stays taken when the peer goes away. Whether a member has rejoined is a fact of the group, and a lost connection
does not undo it; only the answer has nobody left to go to.
"""

from __future__ import annotations

from penstock.core.rsm.result import Reply


class ParkedReply:
    """One parked request; without a reply once nobody waits for the answer any more."""

    __slots__ = ("reply",)

    def __init__(self, reply: Reply) -> None:
        self.reply: Reply | None = reply


Parked = dict[str, ParkedReply]
"""The parked requests of one kind in one group, by member id."""


class ParkedReplies:
    """Every seat of a shard, by the reply that waits in it."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[Reply, ParkedReply] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def park(self, seats: Parked, member_id: str, reply: Reply) -> ParkedReply | None:
        """Park a request; gives the seat it displaces, whose request must be answered too."""
        displaced = self.release(seats, member_id)
        seats[member_id] = self._taken[reply] = ParkedReply(reply)
        return displaced

    def release(self, seats: Parked, member_id: str) -> ParkedReply | None:
        """Free a member's seat, if it has one."""
        seat = seats.pop(member_id, None)
        if seat is not None and seat.reply is not None:
            del self._taken[seat.reply]
        return seat

    def dropped(self, reply: Reply) -> None:
        """The connection behind a request closed; requests that are not parked are no concern of ours."""
        seat = self._taken.pop(reply, None)
        if seat is not None:
            seat.reply = None
