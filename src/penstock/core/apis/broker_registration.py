"""BrokerRegistration (62), for controllers. Version 2 names directories, 3 the epoch of the last clean stop."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest


def handle(node: Node, request: BrokerRegistrationRequest, slot: Slot) -> Answer:
    return ask_controller(node, request, slot, request.broker_id)


API = Api(BrokerRegistrationRequest, range(5), handle)
