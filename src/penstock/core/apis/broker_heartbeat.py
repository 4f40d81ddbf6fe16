"""BrokerHeartbeat (63), for controllers. Version 1 names directories that failed, 2 those that take nothing new."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest


def handle(node: Node, request: BrokerHeartbeatRequest, slot: Slot) -> Answer:
    return ask_controller(node, request, slot, request.broker_id)


API = Api(BrokerHeartbeatRequest, range(3), handle)
