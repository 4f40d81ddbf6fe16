"""A request that a node asks itself: answered by the same handler as anybody's, without a connection or bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from penstock.core.base.ports import Steps
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.context import ITSELF, RequestContext
from penstock.core.node.serving.slots import Slot
from penstock.core.wire import Message

if TYPE_CHECKING:
    from penstock.core.node.serving.connection import Connection


class OwnSlot(Slot):
    """Whoever asked is there as long as the node is, so this slot is never gone."""

    __slots__ = ("_answered",)

    def __init__(self, api: Api[Any], listener: str, now_us: int, answered: Callable[[Message], None]) -> None:
        context = RequestContext(ITSELF, listener, "127.0.0.1", "self")
        super().__init__(cast("Connection", None), api, api.versions[-1], 0, context, now_us)
        self._answered = answered

    @property
    def line(self) -> object:
        return self

    @property
    def gone(self) -> bool:
        return False

    def reply(self, message: Message) -> None:
        self._answered(message)

    def reply_in_turns(self, message: Message) -> Steps[None]:
        self.reply(message)
        yield from ()
