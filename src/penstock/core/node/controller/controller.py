"""The controller of a node: it has a term while its node leads the metadata log, and answers only then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.controller.chores import Chores
from penstock.core.node.controller.membership import Membership
from penstock.core.node.controller.opening import opening_records
from penstock.core.node.controller.plans import PLANS, carry_out, elect_leaders
from penstock.core.node.controller.ports import Answered, Host, Ledger, Surroundings
from penstock.core.node.controller.rebalancing import Rebalancer
from penstock.core.node.controller.refusals import refused
from penstock.core.node.controller.term import Term
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest
from penstock.core.wire.schema import Request


class _Reign:
    """A term, and who works in it."""

    __slots__ = ("chores", "membership", "rebalancer", "term")

    def __init__(self, host: Host, ledger: Ledger, around: Surroundings) -> None:
        self.term = Term(host, ledger, around)
        opening = opening_records(self.term.image, host.settings)
        if opening:
            self.term.commit(opening, lambda code: None)
        self.membership = Membership(self.term)
        self.chores = Chores(self.term)
        self.rebalancer = Rebalancer(self.term)


class Controller:
    """Requests as values in, responses out, once what they say is committed."""

    def __init__(self, host: Host, ledger: Ledger, around: Surroundings) -> None:
        self._host = host
        self._ledger = ledger
        self._around = around
        self._reign: _Reign | None = None

    @property
    def is_active(self) -> bool:
        return self._reign is not None

    def lead(self) -> None:
        """This node leads the metadata log from now on, or in one more epoch: everything begins anew."""
        self.follow()
        self._reign = _Reign(self._host, self._ledger, self._around)

    def follow(self) -> None:
        """Another node leads, or nobody does."""
        reign, self._reign = self._reign, None
        if reign is not None:
            reign.term.end()

    def handle(self, request: Request, version: int, done: Answered) -> None:
        """Answer one request of a controller's own: brokers that live with it, and administration of partitions."""
        reign = self._reign
        if reign is None:
            done(refused(request, version, ErrorCode.NOT_CONTROLLER))
            return
        try:
            _decide(reign, request, version, done)
        except ApiError as error:
            done(refused(request, version, error.code, error.message))

    def met(self, broker_id: int, connection: object) -> None:
        """A broker has spoken over a connection."""
        if self._reign is not None:
            self._reign.membership.met(broker_id, connection)

    def lost(self, connection: object) -> None:
        """A connection of anybody closed."""
        if self._reign is not None:
            self._reign.membership.lost(connection)

    def refused(self, host: str, port: int) -> None:
        """Nobody listens at an address."""
        if self._reign is not None:
            self._reign.membership.refused(host, port)


def _decide(reign: _Reign, request: Request, version: int, done: Answered) -> None:
    plan = PLANS.get(type(request))
    if plan is not None:
        carry_out(reign.term, plan, request, version, done)
    else:
        _OTHERS[type(request)](reign, request, version, done)


_OTHERS: dict[type[Request], Callable[[_Reign, Any, int, Answered], None]] = {
    BrokerRegistrationRequest: lambda reign, *rest: reign.membership.register(*rest),
    BrokerHeartbeatRequest: lambda reign, *rest: reign.membership.beat(*rest),
    UnregisterBrokerRequest: lambda reign, *rest: reign.membership.unregister(*rest),
    ElectLeadersRequest: lambda reign, *rest: elect_leaders(reign.term, *rest),
}
