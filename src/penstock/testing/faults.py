"""Faults that a test puts into a node's answers: errors, delays, cut connections.

An API with a fault stands in the table of the broker's listener in place of the real one, and without its fast path,
until as many requests have come as the fault is for. The node knows nothing of this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.api import NO_REPLY, Answer, Api, Handling
from penstock.core.node.serving.slots import Slot
from penstock.testing.serving import LISTENER

DISCONNECT: Final = "disconnect"
DELAY: Final = "delay"
INJECT_S_MAX: Final = 10.0


class Fault(NamedTuple):
    """What happens to the next requests of an API: an error's name is their answer, or they are cut off or delayed."""

    api: str
    what: str
    times: int = 1
    delay_ms: int = 0


class Faults:
    """Those of one running node; used by its thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._table = cast(dict[int, Api[Node]], node.apis_on(LISTENER))
        self._real: Mapping[int, Api[Node]] = dict(self._table)
        self._due: dict[int, deque[Fault]] = {}

    def act(self, fault: Fault | None) -> None:
        """Add a fault, behind those that its API has already; None: forget all."""
        if fault is None:
            self._due.clear()
            self._table.update(self._real)
            return
        real = next(api for api in self._real.values() if api.name == fault.api)
        due = self._due.setdefault(real.key, deque())
        due.extend([fault._replace(times=1)] * fault.times)
        self._table[real.key] = self._faulty(real)

    def _faulty(self, real: Api[Node]) -> Api[Node]:
        def handle(node: Node, request: Any, slot: Slot) -> Answer:
            return self._answer(real, self._next(real.key), request, slot)

        handling = Handling(handle, real.runs, real.is_forwarded, real.decide)
        return Api(real.request, real.versions, handling, real.touches, refuse=real.refuse)

    def _next(self, key: int) -> Fault | None:
        due = self._due.get(key)
        fault = due.popleft() if due else None
        if not due:
            self._table[key] = self._real[key]
        return fault

    def _answer(self, real: Api[Node], fault: Fault | None, request: Any, slot: Slot) -> Answer:
        if fault is None:
            return real.handle(self._node, request, slot)
        if fault.what == DELAY:
            self._hold_up(slot, fault.delay_ms)
            return real.handle(self._node, request, slot)
        # A producer that wants no answer learns of an error by losing its connection.
        if fault.what == DISCONNECT or getattr(request, "acks", None) == 0:
            slot.connection.abandon()
            return NO_REPLY
        return real.refuse(request, slot.version, ErrorCode[fault.what], "a test has asked for this error")

    def _hold_up(self, slot: Slot, delay_ms: int) -> None:
        """The answers of a connection leave in order: something that is never sent goes before this one, for a time."""
        first = Slot(slot.connection, slot.api, slot.version, slot.correlation_id, slot.context, slot.arrived_us)
        first.requests = 0
        slot.connection.park(first)
        self._node.deadlines.at(self._node.now_ms + delay_ms, lambda: first.reply_parts([], 0))
