"""From a frame to its handler: authenticate, decode, authorize, throttle, handle, answer.

The hot path of everything: no task, no copy, one slot. An API's fast path comes behind the first of these and keeps the
others itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.base.histogram import LATENCY_BOUNDS_US
from penstock.core.base.ports import Buffer
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.image import Image
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.observing.request_times import LOCAL
from penstock.core.node.serving.api import NO_REPLY, PENDING, Answer, Api
from penstock.core.node.serving.audited import described, results
from penstock.core.node.serving.authorizing import Asking, Question
from penstock.core.node.serving.connection import Connection
from penstock.core.node.serving.gates import ALLOW_ALL, OPEN, Gates
from penstock.core.node.serving.later_turns import LaterTurns
from penstock.core.node.serving.limits import Limits
from penstock.core.node.serving.slots import Slot
from penstock.core.wire import Message
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.frames import API_VERSIONS_KEY, parse_request_header
from penstock.core.wire.refusals import codes_in
from penstock.core.wire.schema import Request


class DispatchHost(Protocol):
    """The node whose APIs these are."""

    @property
    def now_us(self) -> int: ...

    @property
    def apis(self) -> Mapping[int, Api[Any]]: ...

    @property
    def gates(self) -> Gates: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def metrics(self) -> Metrics: ...

    @property
    def audits(self) -> bool:
        """Whether somebody keeps what is told of changes and refusals."""
        ...

    def audit(self, event: Mapping[str, Any]) -> None: ...

    def audit_refusal(self, event: Mapping[str, Any]) -> None: ...

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def image(self) -> Image: ...

    def hands_on(self, slot: Slot) -> bool:
        """Whether a request that brokers forward is decided elsewhere."""
        ...

    @property
    def later_turns(self) -> LaterTurns: ...

    def error(self, api: str, code: ErrorCode) -> int: ...

    def log(self, level: str, component: str, text: str, kind: str = "") -> None: ...

    def handler_failed(self, slot: Slot, error: Exception) -> None: ...


H = TypeVar("H", bound=DispatchHost)


class Dispatcher(Generic[H]):
    """One for all connections of a node."""

    def __init__(self, node: H) -> None:
        self._node = node
        self._times = node.metrics.request_times
        self.counted: dict[Api[Any], int] = {}
        """How many requests of this turn are answered already, for the metrics."""
        self.waiting: dict[Api[Any], int] = {}
        """And how many were handled, and are not."""

    def dispatch(self, connection: Connection, frames: list[memoryview], at: int) -> int:
        """Run the request at a place of what has arrived; gives how many were run, as an API that knows how may take
        those behind it along."""
        frame = frames[at]
        header = parse_request_header(frame)
        key, version, correlation_id, client_id, position = header
        api: Api[H] | None = connection.apis.get(key)
        if not connection.is_authenticated and not connection.admits(api is not None and api.before_authentication):
            return 1
        request: Any = None
        if api is None or version not in api.versions:
            api, version = self._unsupported(key, version)
        else:
            if api.fast_path and (taken := api.fast_path(self._node, connection, api, frames, at, header)):
                return taken
            # What follows the message is let pass, as Kafka does: librdkafka asks for all topics with bytes to spare.
            request = self.decode(connection, api, frame, version, position)
        context = connection.context
        if context.client_id != client_id:
            context = connection.context_of(client_id)
        slot = Slot(connection, api, version, correlation_id, context, self._node.now_us)
        if self._node.gates is OPEN and not api.changes_something:
            # The usual case: nobody need be asked, and nobody told.
            self._settle(slot, api.handle(self._node, request, slot))
        else:
            self._settle(slot, self.answer(request, slot, len(frame)))
        return 1

    def answer(self, request: Any, slot: Slot, size_bytes: int) -> Answer:
        """What came in a frame, or in an envelope."""
        if self._node.gates is OPEN and not (slot.api.changes_something and self._node.audits):
            # Nobody need be asked.
            return slot.api.handle(self._node, request, slot)
        question = self._question(request, slot)
        if question is None:
            return self._go_on(request, slot, size_bytes, None)
        question.is_large = slot.connection.elements_left < 0
        refused = slot.api.authorize(question)
        if question.is_put_off and refused is None:
            self._node.later_turns.run(
                slot, question.in_turns(), lambda outcome: self._judged(outcome, question, slot, size_bytes)
            )
            return PENDING
        self._note(question, slot)
        return self._go_on(request, slot, size_bytes, refused)

    def _judged(self, outcome: Message | Exception | None, question: Question, slot: Slot, size_bytes: int) -> None:
        """A large request was judged, in some turns."""
        if isinstance(outcome, Exception):
            self._node.handler_failed(slot, outcome)
            return
        self._note(question, slot)
        answer = self._go_on(question.request, slot, size_bytes, outcome)
        if isinstance(answer, Message):
            slot.reply(answer)
        elif answer is not PENDING:
            self._node.later_turns.run_steps(slot, answer)  # type: ignore[arg-type]  # produce judges for itself

    def _go_on(self, request: Any, slot: Slot, size_bytes: int, refused: Message | None) -> Answer:
        if refused is None and slot.api.changes_something and self._node.audits:
            self._audit(request, slot)
        if not slot.api.is_of_nodes(request):
            self._throttle(slot, size_bytes)
        return slot.api.handle(self._node, request, slot) if refused is None else refused

    def authorize(self, request: Any, slot: Slot) -> Message | None:
        """Judge a request by what its API says; gives the answer of one that is refused. Of one that is allowed in part
        the rest is taken out, and told when it is answered. What the controller decides is judged there."""
        question = self._question(request, slot)
        if question is None:
            return None
        refused = slot.api.authorize(question)
        self._note(question, slot)
        return refused

    def _question(self, request: Any, slot: Slot) -> Question | None:
        """None: there is nothing to be asked here."""
        authorizer = self._node.gates.authorizer
        if authorizer is ALLOW_ALL:
            return None
        api = slot.api
        if api.is_forwarded and self._node.hands_on(slot):
            return None
        creates = bool(self._node.settings["auto.create.topics.enable"])
        asking = Asking(slot.context, slot.version, api.refuse, self._node.image, creates)
        return Question(authorizer, asking, request)

    def _note(self, question: Question, slot: Slot) -> None:
        """What was refused is counted, put on record, and told in the answer."""
        api = slot.api
        for code in question.codes:
            self._node.error(api.name, code)
        if question.codes and self._node.audits:
            event = {"event": "refused", **described(slot.context, api.name, question.refused)}
            self._node.audit_refusal({**event, "result": results([int(code) for code in question.codes])})
        if question.codes and api.is_of_nodes(question.request):
            self._tell_of_node(slot)
        slot.finish = question.finish if question.after else None

    def _tell_of_node(self, slot: Slot) -> None:
        """Nodes that may not ask each other make no cluster, and their operator should hear why."""
        context = slot.context
        self._node.log(
            "warning",
            "access",
            f"refused {slot.api.name} of {context.principal} at {context.address}: if that is one of the nodes, "
            "name it in super.users",
            kind="node-refused",
        )

    def _audit(self, request: Any, slot: Slot) -> None:
        """Tell of a change that is decided here, once it is answered. Nodes change things all the time."""
        api, before = slot.api, slot.finish
        if api.is_of_nodes(request) or (api.is_forwarded and self._node.hands_on(slot)):
            return
        event = {"event": "change", **described(slot.context, api.name, request)}

        def finish(answer: Message) -> None:
            if before is not None:
                before(answer)
            self._node.audit({**event, "result": results(codes_in(answer))})

        slot.finish = finish

    def decode(self, connection: Connection, api: Api[H], data: Buffer, version: int, position: int) -> Request:
        """The request of an API that starts at a position, if its elements are no more than may come now."""
        elements_max = connection.elements_left
        if elements_max < 0:
            elements_max = self._node.limits.elements_max(api.key)
            return api.request.decode_counted(data, version, position, elements_max)[0]
        request, connection.elements_left = api.request.decode_counted(data, version, position, elements_max)
        return request

    def served(self, connection: Connection, api: Api[Any], times: int = 1) -> None:
        """Requests were answered in the turn in which they were handled."""
        self.counted[api] = self.counted.get(api, 0) + times
        if connection.arrived_us:
            self._times[api.name].spend("queue", self._node.now_us - connection.arrived_us, times)

    def parked(self, slot: Slot) -> None:
        """Requests were handled, and are answered later."""
        self.waiting[slot.api] = self.waiting.get(slot.api, 0) + slot.requests
        if slot.connection.arrived_us:
            slot.arrived_us = slot.connection.arrived_us

    def answered(self, slot: Slot) -> None:
        """The answer to what was parked leaves."""
        times, now_us, requests = self._times[slot.api.name], self._node.now_us, slot.requests
        times.later.observe(now_us - slot.arrived_us, requests)
        if slot.begun_us > slot.arrived_us:
            times.spend("queue", slot.begun_us - slot.arrived_us, requests)
        if slot.ready_us > slot.begun_us:
            times.spend("remote", slot.ready_us - slot.begun_us, requests)
        if now_us > slot.ready_us:
            times.spend("response", now_us - slot.ready_us, requests)

    def turn_ends(self, elapsed_us: int) -> None:
        """It took so long."""
        if self.counted:
            bucket = bisect_left(LATENCY_BOUNDS_US, elapsed_us)
            for api, times in self.counted.items():
                at_once = self._times[api.name].at_once
                at_once.counts[bucket] += times
                at_once.total += elapsed_us * times
            self.counted.clear()
        if self.waiting:
            for api, times in self.waiting.items():
                self._times[api.name].spend(LOCAL, elapsed_us, times)
            self.waiting.clear()
        if self._node.gates is not OPEN:
            self._node.gates.quotas.turn_took(elapsed_us)

    def _throttle(self, slot: Slot, size_bytes: int) -> None:
        throttle_ms = self._node.gates.quotas.throttle_ms(slot.context, slot.api, size_bytes)
        if throttle_ms:
            slot.throttle(throttle_ms)

    def _settle(self, slot: Slot, answer: Answer) -> None:
        """Send what is answered, or let it wait for its turn. What goes on by itself may be answered at once, too."""
        connection = slot.connection
        if isinstance(answer, Message):
            slot.parts, slot.size = slot.encode(answer)
        elif answer is NO_REPLY:
            self.served(connection, slot.api)
            return
        elif answer is not PENDING:
            self._node.later_turns.run_steps(slot, answer)  # type: ignore[arg-type]  # what is neither is steps
        if slot.parts is None or connection.slots:
            connection.park(slot)
        else:
            self.served(connection, slot.api)
            connection.put(slot.parts, slot.size)

    def _unsupported(self, key: int, version: int) -> tuple[Api[H], int]:
        """Only ApiVersions may be asked in a version nobody knows; it answers in its oldest one."""
        if key != API_VERSIONS_KEY:
            raise DecodeError(f"API key {key} version {version} is not supported")
        return self._node.apis[key], 0
