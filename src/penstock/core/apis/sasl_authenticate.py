"""SaslAuthenticate (36). Versions 0 to 2; from 1 on the answer says when the client must authenticate again
(KIP-368)."""

from __future__ import annotations

from penstock.core.apis.failing_late import fail_late
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import NO_REPLY, Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(node: Node, request: SaslAuthenticateRequest, slot: Slot) -> Answer:
    found = node.gates.authenticator.respond(slot.connection, bytes(request.auth_bytes))
    if found.code is ErrorCode.NONE:
        return SaslAuthenticateResponse(auth_bytes=found.token, session_lifetime_ms=found.lifetime_ms)
    response = SaslAuthenticateResponse(error_code=node.error(slot.api.name, found.code), error_message=found.message)
    if found.code is ErrorCode.ILLEGAL_SASL_STATE:
        if slot.connection.is_authenticated:
            return response
        slot.connection.expel("said who it is before it said how")
        return NO_REPLY
    return fail_late(node, slot, response)


API = Api(SaslAuthenticateRequest, range(3), handle, NOTHING, before_authentication=True)
