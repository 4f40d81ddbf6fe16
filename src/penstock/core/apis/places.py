"""Where an API is answered, as the part of its value that says who does it: the controller, a coordinator, the quorum.

An API that is answered by the node that is asked has a handler and needs nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.node.controller.deciding import Decide
from penstock.core.node.controller.plans import Plan, planned
from penstock.core.node.node import Node
from penstock.core.node.serving.api import PENDING, Answer, Handler, Handling, Runs
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.refusals import codes_in
from penstock.core.wire.schema import Request, Response


def by_plan(plan: Plan, *, is_forwarded: bool = True) -> Handling[Node]:
    """The active controller carries out what a plan says."""
    return by_controller(planned(plan), is_forwarded=is_forwarded)


def by_controller(
    decide: Decide, *, is_forwarded: bool = True, speaker: Callable[[Any], int] | None = None
) -> Handling[Node]:
    """The active controller decides. A broker that is asked hands the request on, where `is_forwarded`; on a
    controller's listener nothing is handed on: who asks there looks for the controller itself. `speaker` gives the
    broker that speaks for itself by its request, and is known by its connection from then on."""

    def handle(node: Node, request: Request, slot: Slot) -> Answer:
        controller = node.cluster.controller
        if controller.is_active:
            quota = node.gates.quotas.mutation_quota(slot.context)

            def done(response: Response) -> None:
                if quota is not None and quota.rest_ms:
                    slot.throttle(quota.rest_ms)
                answered(node, request, slot, response)

            controller.handle(request, slot.version, done, quota, str(slot.context.principal))
            return PENDING
        if not is_forwarded or slot.context.listener in node.controller_listeners:
            node.error(slot.api.name, ErrorCode.NOT_CONTROLLER)
            return slot.api.refuse(request, slot.version, ErrorCode.NOT_CONTROLLER, None)
        return node.cluster.forwarding.send(request, slot, lambda: node.dispatcher.answer(request, slot, 0))

    def answered(node: Node, request: Request, slot: Slot, response: Response) -> None:
        if speaker is not None and not getattr(response, "error_code", 0) and not slot.gone:
            node.cluster.controller.met(speaker(request), slot.connection)
        count_errors(node, slot, response)
        slot.reply(response)

    return Handling(handle, Runs.CONTROLLER, is_forwarded, decide)


def count_errors(node: Node, slot: Slot, response: Response) -> None:
    for code in codes_in(response):
        if code:
            node.error(slot.api.name, ErrorCode(code))


def by_coordinator(handle: Handler[Node]) -> Handling[Node]:
    """A coordinator that leads the partition of an internal topic; who asks another broker is sent there."""
    return Handling(handle, Runs.COORDINATOR)


def ask_quorum(node: Node, request: Request, slot: Slot) -> Answer:
    """Raft takes the request, and answers when there is something to say. Whoever asks here looks for the leader
    itself, and is told who that is."""
    node.quorum.handle(slot, request, slot.version)
    return PENDING


def _ask_leader(node: Node, request: Request, slot: Slot) -> Answer:
    """Whoever asks a broker is given the leader's answer. Should this node have become it meanwhile, the request is new
    to it: nobody has judged it yet."""
    if slot.context.listener in node.controller_listeners or node.quorum.leads:
        return ask_quorum(node, request, slot)
    return node.cluster.forwarding.send(request, slot, lambda: node.dispatcher.answer(request, slot, 0))


BY_QUORUM = Handling(ask_quorum, Runs.QUORUM)
BY_QUORUM_LEADER = Handling(_ask_leader, Runs.QUORUM, is_forwarded=True)
