"""What a group keeps at other coordinators: what a machine asks of them, and what it does when they have answered.

A request whose answer depends on that is held: whoever takes the machine away tells it so. Each step of what follows is
a turn of its own, so that the next one sees what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import frozen
from penstock.core.groups.turn import Turn
from penstock.core.rsm.result import Due, Replies, Reply
from penstock.core.wire import Message
from penstock.core.wire.refusals import overwritten
from penstock.core.wire.schema import Request

Codes = Mapping[tuple[bytes, int], ErrorCode]
"""What became of each partition, by topic id."""
Step = Callable[[Turn, Codes], None]


@frozen
class StateDue(Due):
    """Share coordinators are to set state up, or to delete it."""

    request: Request
    steps: tuple[Step, ...]


class HeldReplies:
    """Requests that wait for other coordinators, and what they hear if nobody is there to answer them."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[Reply, Message] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def hold(self, reply: Reply, refusal: Message) -> None:
        self._waiting[reply] = refusal

    def release(self, reply: Reply) -> None:
        self._waiting.pop(reply, None)

    def lose(self, code: ErrorCode) -> Replies:
        lost: Replies = [(reply, overwritten(refusal, code)) for reply, refusal in self._waiting.items()]
        self._waiting.clear()
        return lost
