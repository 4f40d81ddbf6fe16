"""Who belongs to the cluster: registrations, heartbeats, and the end of sessions.

Brokers of other processes have sessions. The broker in the controller's own process has none: while the controller can
decide anything, that broker is alive.
"""

from __future__ import annotations

from functools import partial

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.heartbeats import Heartbeats, State
from penstock.core.metadata.moving import marking
from penstock.core.metadata.registration import Caller, plan_registration, plan_unregistration
from penstock.core.metadata.sweep import Sweep
from penstock.core.node.controller.pace import Pace
from penstock.core.node.controller.ports import Asked
from penstock.core.node.controller.term import Term
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

PULSE = "pulse"


class Membership:
    """The brokers of one term. Every unfenced one that was found has some time to be heard of."""

    def __init__(self, term: Term) -> None:
        self._term = term
        image = term.image
        self._heartbeats = Heartbeats(image, self._pace.session_ms, term.steady_ms, self._first_ms)
        self._sessions = self._heartbeats.sessions
        self._sessions.forget(term.around.own_broker_id)
        # The connection over which each broker spoke last. It has no other: one that it has left, while a network was
        # cut, may stay open here for long, and says nothing about whether the broker lives.
        self._met: dict[int, object] = {}
        # What the last controller left half done comes before anything new.
        term.sweep(self._heartbeats.take_over(image, term.settings))
        self._keep_pulse()
        # Whoever controlled before is often gone, and its broker with it.
        for broker in image.brokers.values():
            if not broker.fenced:
                self._look_for(broker)

    @property
    def _pace(self) -> Pace:
        return Pace.of(self._term.settings, len(self._term.image.brokers))

    def _first_ms(self, broker_id: int) -> int:
        """How long a broker that was found is waited for: until no earlier controller's word holds any more, and long
        enough for it to learn who controls now. Voters are told at once, others find out. The last controller's own
        broker had its word from itself."""
        pace, around = self._pace, self._term.around
        if broker_id == around.predecessor():
            return pace.lease_ms
        return pace.inherited_ms if broker_id in around.voters() else pace.session_ms

    # What brokers say

    def register(self, asked: Asked) -> None:
        term = self._term
        request: BrokerRegistrationRequest = asked.request
        self._advance()
        is_connected = request.broker_id in self._met
        caller = Caller(term.around.cluster_id, asked.version, term.image.offset + 1, is_connected)
        sweep, epoch = plan_registration(term.image, term.settings, self._heartbeats, request, caller)

        def registered(code: ErrorCode) -> None:
            if code is not ErrorCode.NONE:
                asked.refuse(code)
                return
            self._sessions.lengthen(self._pace.session_ms)
            asked.answer(BrokerRegistrationResponse(broker_epoch=epoch))

        # A broker that the cluster has never heard of is marked, so that it gets its share whoever controls then.
        welcome = Sweep(term.image, None, lambda *_: [], closing=marking(term.image, request.broker_id))
        term.sweep([sweep, welcome], registered)

    def beat(self, asked: Asked) -> None:
        term = self._term
        request: BrokerHeartbeatRequest = asked.request
        self._advance()
        answer, state, sweeps = self._heartbeats.beat(term.image, term.settings, request)
        self._sessions.forget(term.around.own_broker_id)
        self._keep_pulse()

        def swept(code: ErrorCode) -> None:
            if code is ErrorCode.NONE and state is State.SHUTTING_DOWN:
                self._heartbeats.handed_over(request.broker_id, request.broker_epoch, term.image.offset)
            # Who cannot be sure to lead must not tell a broker that it serves: another one may have fenced it.
            told = code if code is not ErrorCode.NONE or self._surely_leads() else ErrorCode.NOT_CONTROLLER
            if told is ErrorCode.NONE:
                asked.answer(answer)
            else:
                asked.refuse(told)

        term.sweep(sweeps, swept)

    def unregister(self, asked: Asked) -> None:
        term = self._term
        request: UnregisterBrokerRequest = asked.request
        self._advance()
        if request.broker_id == term.around.own_broker_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Broker {request.broker_id} is alive: it is this very process.")
        sweep = plan_unregistration(term.image, term.settings, self._heartbeats, request.broker_id)

        def unregistered(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                asked.answer(UnregisterBrokerResponse(error_message=None))
            else:
                asked.refuse(code)

        term.sweep([sweep], unregistered)

    def _surely_leads(self) -> bool:
        led_ms = self._term.around.led_ms()
        return led_ms is None or self._term.host.now_ms - led_ms <= self._pace.lease_ms

    # What connections tell

    def met(self, broker_id: int, connection: object) -> None:
        """A broker speaks over this connection."""
        self._met[broker_id] = connection

    def lost(self, connection: object) -> None:
        """A connection closed. If it was a broker's, look whether the broker is still there."""
        broker_id = next((each for each, last in self._met.items() if last is connection), None)
        if broker_id is None:
            return
        del self._met[broker_id]
        broker = self._term.image.brokers.get(broker_id)
        if broker is not None:
            self._look_for(broker)

    def _look_for(self, broker: BrokerImage) -> None:
        """Ask whether anybody listens where the broker does; that nobody does will be told to `refused`."""
        if broker.id != self._term.around.own_broker_id and broker.endpoints:
            self._term.around.probe(broker.endpoints[0].host, broker.endpoints[0].port)

    def refused(self, host: str, port: int) -> None:
        """Nobody listens at an address: whose it is need not be waited for. Unless it is connected: then the news is
        from before it listened, or the end of its connection will come and be looked into."""
        self._advance()
        for broker in list(self._term.image.brokers.values()):
            listens = any((point.host, point.port) == (host, port) for point in broker.endpoints)
            if listens and broker.id != self._term.around.own_broker_id and broker.id not in self._met:
                sweep = self._heartbeats.hint(self._term.image, self._term.settings, broker.id)
                self._fence(broker, sweep, "nobody listens at its address")

    # Time

    def _advance(self) -> None:
        self._sessions.advance(self._term.steady_ms)

    def _keep_pulse(self) -> None:
        """Without sessions nobody needs to look at the clock."""
        if self._sessions and not self._term.has_timer(PULSE):
            self._term.call_in(PULSE, self._sessions.next_call_ms() - self._term.steady_ms, self._pulse)

    def _pulse(self) -> None:
        term = self._term
        self._advance()
        while (found := self._heartbeats.expire(term.image, term.settings)) is not None:
            self._fence(found.broker, found.sweep, "it was not heard of")
        self._keep_pulse()

    def _fence(self, broker: BrokerImage, sweep: Sweep | None, why: str) -> None:
        if sweep is not None:
            self._term.host.log("warning", "controller", f"broker {broker.id} is fenced: {why}")
            self._term.sweep([sweep], partial(self._fenced, broker))

    def _fenced(self, broker: BrokerImage, code: ErrorCode) -> None:
        if code is not ErrorCode.NONE and not self._term.is_over:
            # It could not be written, so the broker is what it was, and has a session as before.
            self._sessions.touch(broker.id, broker.epoch)
            self._keep_pulse()
