"""The controller of a node: it is active while its node leads the metadata log, and decides only then.

Every decision about the cluster is made here, on a node that stands alone as well: an API says what the active
controller does with its request (`Api.decide`), and whoever has such a request hands it to `handle`.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.controller.active import ActiveController
from penstock.core.node.controller.deciding import Decides
from penstock.core.node.controller.ports import Answered, Asked, ControllerContext, Host, Ledger, MutationQuota
from penstock.core.wire.schema import Request


class Controller:
    """Requests as values in, responses out, once what they say is committed."""

    def __init__(self, host: Host, ledger: Ledger, around: ControllerContext, apis: Mapping[int, Decides]) -> None:
        self._host = host
        self._ledger = ledger
        self._around = around
        self._apis = apis
        self._active: ActiveController | None = None

    @property
    def is_active(self) -> bool:
        return self._active is not None

    def lead(self) -> None:
        """This node leads the metadata log from now on, or in one more epoch: everything begins anew."""
        self.follow()
        self._active = ActiveController(self._host, self._ledger, self._around)

    def follow(self) -> None:
        """Another node leads, or nobody does."""
        active, self._active = self._active, None
        if active is not None:
            active.term.end()

    def handle(
        self,
        request: Request,
        version: int,
        done: Answered,
        quota: MutationQuota | None = None,
        requester: str = "",
    ) -> None:
        """Answer one request of those that the controller decides."""
        api = self._apis[request.KEY]
        asked = Asked(request, version, done, api.refuse, quota, requester)
        active = self._active
        if active is None:
            asked.refuse(ErrorCode.NOT_CONTROLLER)
            return
        assert api.decide is not None, f"{type(request).__name__} is not for the controller"
        try:
            api.decide(active, asked)
        except ApiError as error:
            asked.refuse(error.code, error.message)

    def met(self, broker_id: int, connection: object) -> None:
        """A broker has spoken over a connection."""
        if self._active is not None:
            self._active.membership.met(broker_id, connection)

    def lost(self, connection: object) -> None:
        """A connection of anybody closed."""
        if self._active is not None:
            self._active.membership.lost(connection)

    def refused(self, host: str, port: int) -> None:
        """Nobody listens at an address."""
        if self._active is not None:
            self._active.membership.refused(host, port)
