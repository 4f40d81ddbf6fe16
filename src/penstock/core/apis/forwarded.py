"""APIs that the controller answers: where this node is not the controller, their requests are sent there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.node.controller.refusals import refused
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Slot
from penstock.core.wire.schema import Request, Response

R = TypeVar("R", bound=Request)


def forwarded(handle: Callable[[Node, R, Slot], Answer]) -> Callable[[Node, R, Slot], Answer]:
    """A handler that decides here on the controller, and forwards elsewhere. On a controller's listener nothing is
    forwarded: who asks there looks for the controller itself."""

    def decide(node: Node, request: R, slot: Slot) -> Answer:
        if node.quorum.leads:
            return handle(node, request, slot)
        if slot.connection.listener in node.controller_listeners:
            node.error(slot.api.name, ErrorCode.NOT_CONTROLLER)
            return refused(request, slot.version, ErrorCode.NOT_CONTROLLER)
        return node.cluster.forwarding.send(request, slot, lambda: handle(node, request, slot))

    return decide


def ask_controller(node: Node, request: Request, slot: Slot, broker_id: int | None = None) -> Answer:
    """Let this node's controller answer, if it is active. A broker that asks for itself, and is not refused, is known
    by its connection from then on."""

    def answered(response: Response) -> None:
        code = getattr(response, "error_code", 0)
        if code:
            node.error(slot.api.name, ErrorCode(code))
        elif broker_id is not None and not slot.gone:
            node.cluster.controller.met(broker_id, slot.connection)
        slot.reply(response)

    node.cluster.controller.handle(request, slot.version, answered)
    return PENDING
