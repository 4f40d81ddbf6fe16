"""What the four APIs of delegation tokens have in common: over which connections one may ask, and how one is refused.

Whoever was let in by a token makes no other one, and nothing is told where it is not sure who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.core.apis.places import by_controller
from penstock.core.base.endpoints import SecurityProtocol
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.delegation_tokens import Asking, TokenIndex, TokenSettings
from penstock.core.node.controller.active import ActiveController
from penstock.core.node.controller.plans import planned
from penstock.core.node.controller.ports import Asked
from penstock.core.node.controller.term import Term
from penstock.core.node.node import Node
from penstock.core.node.serving.api import Answer, Handling
from penstock.core.node.serving.context import ANONYMOUS, RequestContext
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.schema import Request, Response, StoredRecord

NOT_ALLOWED: Final = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
NotAllowed = Callable[[Any, str, int], Response]
"""A request, who asks, and the version give the answer that nobody may ask so."""
TokenPlan = Callable[[Asking, Any, Term, TokenIndex], tuple[Sequence[StoredRecord], Response]]


def by_token_plan(plan: TokenPlan, not_allowed: NotAllowed) -> Handling[Node]:
    """The active controller carries out a plan, unless the connection says already that nobody may ask over it."""

    def decide(active: ActiveController, asked: Asked) -> None:
        def planning(term: Term, request: Request, version: int) -> tuple[Sequence[StoredRecord], Response]:
            settings = TokenSettings.of(term.settings)
            asking = Asking(term.image, settings, asked.requester, term.host.now_ms, version)
            return plan(asking, request, term, active.tokens)

        planned(planning)(active, asked)

    decided = by_controller(decide)

    def handle(node: Node, request: Request, slot: Slot) -> Answer:
        if may_ask(node, slot.context):
            return decided.handle(node, request, slot)
        node.error(slot.api.name, NOT_ALLOWED)
        return not_allowed(request, str(slot.context.principal), slot.version)

    return decided._replace(handle=handle)


def may_ask(node: Node, context: RequestContext) -> bool:
    """What came in an envelope has been looked at by the broker that it came from, but for who asks."""
    if context.is_by_token:
        return False
    protocol = node.settings.protocol_of(context.listener)
    is_nobody = protocol == SecurityProtocol.SSL and context.principal == ANONYMOUS
    return context.is_forwarded or not (protocol == SecurityProtocol.PLAINTEXT or is_nobody)
