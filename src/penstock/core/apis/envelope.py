"""Envelope (58), for controllers. Version 0: a request that a broker forwards for one of its clients.

Errors of the envelope itself are answered in the envelope. What is inside is answered as if the client had asked here,
except that NOT_CONTROLLER goes back to the broker, which looks for the controller again.
"""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import cast

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.node.membership.forwarding import PRINCIPAL_VERSION
from penstock.core.node.node import Node
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.context import Principal, RequestContext
from penstock.core.node.serving.slots import Slot
from penstock.core.wire import Message
from penstock.core.wire.api.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.core.wire.errors import DecodeError, TooManyElements
from penstock.core.wire.frames import parse_request_header
from penstock.core.wire.refusals import says
from penstock.core.wire.schema import Request
from penstock.core.wire.stored.principal import DefaultPrincipalData

ADDRESS_BYTES = (4, 16)
FRAME_SIZE_BYTES = 4
_version = struct.Struct(">h")


class _Inner(Slot):
    """The slot of what is inside: its answer is put into the envelope's."""

    __slots__ = ("_outer",)

    def __init__(self, outer: Slot, api: Api[Node], version: int, correlation_id: int, context: RequestContext) -> None:
        super().__init__(outer.connection, api, version, correlation_id, context, outer.arrived_us)
        self._outer = outer

    def reply(self, message: Message) -> None:
        self._outer.reply(self.wrapped(message))

    def reply_in_turns(self, message: Message) -> Steps[None]:
        """What the controller answers is not large."""
        self.reply(message)
        yield from ()

    def throttle(self, throttle_ms: int) -> None:
        """The client is told; the broker in between speaks for others as well, and is listened to."""
        self.throttle_ms = throttle_ms

    def wrapped(self, message: Message) -> EnvelopeResponse:
        if says(message, ErrorCode.NOT_CONTROLLER):
            return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        frame = b"".join(cast(list[bytes], self.encode(message)[0]))
        return EnvelopeResponse(response_data=frame[FRAME_SIZE_BYTES:])


def handle(node: Node, request: EnvelopeRequest, slot: Slot) -> Answer:
    try:
        inner, content = _open(node, request, slot)
    except ApiError as error:
        return EnvelopeResponse(error_code=node.error("Envelope", error.code))
    answer = node.dispatcher.answer(content, inner, len(request.request_data))
    if isinstance(answer, Message):
        return inner.wrapped(answer)
    if answer is not PENDING:
        node.run_steps(inner, answer)  # type: ignore[arg-type]  # these APIs answer with a message, later, or in steps
    return PENDING


def _open(node: Node, request: EnvelopeRequest, slot: Slot) -> tuple[_Inner, Request]:
    """The request inside, or what is wrong with it, in the order in which Kafka looks."""
    principal, is_by_token = _principal(request.request_principal)
    if len(request.client_host_address) not in ADDRESS_BYTES:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The client's address is no address.")
    try:
        key, version, correlation_id, client_id, position = parse_request_header(request.request_data)
        api = node.apis.get(key)
        if api is None or not api.is_forwarded:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"API {key} is not forwarded.")
        if version not in api.versions:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"API {key} version {version} is not supported.")
        content = node.dispatcher.decode(slot.connection, api, request.request_data, version, position)
    except TooManyElements:
        raise
    except DecodeError as error:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from None
    if not node.cluster.controller.is_active:
        raise ApiError(ErrorCode.NOT_CONTROLLER, "This node does not control the cluster.")
    address = str(ip_address(request.client_host_address))
    context = RequestContext(principal, slot.context.listener, address, client_id, is_by_token, is_forwarded=True)
    return _Inner(slot, api, version, correlation_id, context), content


def _principal(data: bytes | None) -> tuple[Principal, bool]:
    """Who asks, and whether a delegation token says so."""
    try:
        if data is None or len(data) < _version.size:
            raise DecodeError("no principal")
        (version,) = _version.unpack_from(data)
        if version != PRINCIPAL_VERSION:
            raise DecodeError(f"a principal of version {version}")
        found = DefaultPrincipalData.decode(data, version, _version.size)
        return Principal(found.type, found.name), found.token_authenticated
    except DecodeError as error:
        raise ApiError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from None


API = Api(EnvelopeRequest, range(1), handle, CLUSTER_ACTION)
