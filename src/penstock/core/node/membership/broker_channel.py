"""The way to another broker, by its id: for what a coordinator or a partition's leader asks of it.

    channel.send(broker_id, MARKERS, request, then)

`then(answer)` comes exactly once, in a later step of the loop and never inside `send`, with the response, or with why
there is none: BROKER_NOT_AVAILABLE where the image knows no such broker, NETWORK_EXCEPTION where it was not reached,
did not answer in time, or where too much is under way to it already. Both are to be tried again, perhaps elsewhere;
what was asked may have been done all the same.

Requests to one broker with one purpose go over one connection, many at a time, and are answered in order: what waits
for a commit has a purpose of its own, so that nobody waits behind it. A broker that asks itself is answered by the same
handler, without a connection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.node.membership.addresses import BrokerAddresses
from penstock.core.node.membership.ports import MemberHost
from penstock.core.node.serving.api import PENDING
from penstock.core.node.serving.own_slot import OwnSlot
from penstock.core.wire import Message
from penstock.core.wire.schema import Request, Response

Then = Callable[[Response | ErrorCode], None]


class BrokerChannel:
    """Questions for any broker, this one too."""

    def __init__(self, node: MemberHost) -> None:
        self._node = node
        self._addresses = BrokerAddresses(node)

    def send(self, broker_id: int, purpose: str, request: Request, then: Then, timeout_ms: int | None = None) -> None:
        """Ask a broker; `timeout_ms` is `request.timeout.ms` unless given."""
        node = self._node
        if broker_id == node.node_id:
            self._ask_self(request, then)
        elif (address := self._addresses.of(broker_id)) is None:
            node.deadlines.soon(partial(then, ErrorCode.BROKER_NOT_AVAILABLE))
        else:
            patience_ms = node.settings["request.timeout.ms"] if timeout_ms is None else timeout_ms
            node.links.ask(address, purpose, request, patience_ms, lambda answer: then(_or_lost(answer)))

    def _ask_self(self, request: Request, then: Then) -> None:
        node = self._node
        api = node.apis[type(request).KEY]

        def answered(message: Message) -> None:
            assert isinstance(message, Response)
            node.deadlines.soon(partial(then, message))

        slot = OwnSlot(api, node.advertised[0].name, node.now_us, answered)
        answer: Any = api.handle(node, request, slot)
        if isinstance(answer, Message):
            answered(answer)
        elif answer is not PENDING:
            self._finish(slot, answer, then)

    def _finish(self, slot: OwnSlot, steps: Any, then: Then) -> None:
        """A handler that answers in steps."""

        def finished(outcome: Message | Exception) -> None:
            if isinstance(outcome, Exception):
                self._node.log("error", "membership", f"{slot.api.name} failed: {outcome!r}")
                then(ErrorCode.UNKNOWN_SERVER_ERROR)
            else:
                slot.reply(outcome)

        self._node.tasks.run(steps, finished)


def _or_lost(answer: Response | None) -> Response | ErrorCode:
    return ErrorCode.NETWORK_EXCEPTION if answer is None else answer
