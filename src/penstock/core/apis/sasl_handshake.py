"""SaslHandshake (17). Version 1: the tokens that follow come in SaslAuthenticate.

Version 0, after which they would come as bare frames, is what clients spoke before Kafka 1.0, and is not served."""

from __future__ import annotations

from penstock.core.apis.failing_late import fail_late
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(node: Node, request: SaslHandshakeRequest, slot: Slot) -> Answer:
    code, mechanisms = node.gates.authenticator.begin(slot.connection, request.mechanism)
    response = SaslHandshakeResponse(error_code=code, mechanisms=list(mechanisms))
    if code is ErrorCode.NONE:
        return response
    node.error(slot.api.name, code)
    # Who is known already goes on as before.
    return response if slot.connection.is_authenticated else fail_late(node, slot, response)


API = Api(SaslHandshakeRequest, range(1, 2), handle, NOTHING, before_authentication=True)
