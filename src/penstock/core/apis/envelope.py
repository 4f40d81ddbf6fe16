"""Envelope (58), for controllers. Version 0: a request that a broker forwards for one of its clients.

Errors of the envelope itself are answered in the envelope. What is inside is answered as if the client had asked here,
except that NOT_CONTROLLER goes back to the broker, which looks for the controller again.
"""

from __future__ import annotations

import struct
from typing import cast

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.controller.refusals import says
from penstock.core.node.forwarding import FORWARDABLE, PRINCIPAL_VERSION
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Api, Slot
from penstock.core.wire import Message
from penstock.core.wire.api.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.frames import parse_request_header
from penstock.core.wire.schema import Request
from penstock.core.wire.stored.principal import DefaultPrincipalData

ADDRESS_BYTES = (4, 16)
FRAME_SIZE_BYTES = 4
_version = struct.Struct(">h")


class _Inner(Slot):
    """The slot of what is inside: its answer is put into the envelope's."""

    __slots__ = ("_outer",)

    def __init__(self, outer: Slot, api: Api, version: int, correlation_id: int, client_id: str | None) -> None:
        super().__init__(outer.connection, api, version, correlation_id, client_id, outer.arrived_us)
        self._outer = outer

    def reply(self, message: Message) -> None:
        self._outer.reply(self.wrapped(message))

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
    answer = inner.api.handle(node, content, inner)
    if isinstance(answer, Message):
        return inner.wrapped(answer)
    if answer is not PENDING:
        node.run_steps(inner, answer)  # type: ignore[arg-type]  # these APIs answer with a message, later, or in steps
    return PENDING


def _open(node: Node, request: EnvelopeRequest, slot: Slot) -> tuple[_Inner, Request]:
    """The request inside, or what is wrong with it, in the order in which Kafka looks."""
    _check_principal(request.request_principal)
    if len(request.client_host_address) not in ADDRESS_BYTES:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The client's address is no address.")
    try:
        key, version, correlation_id, client_id, position = parse_request_header(request.request_data)
        if key not in FORWARDABLE:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"API {key} is not forwarded.")
        api = node.apis.get(key)
        if api is None or version not in api.versions:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"API {key} version {version} is not supported.")
        content = api.request.decode(request.request_data, version, position)
    except DecodeError as error:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from None
    if not node.quorum.leads:
        raise ApiError(ErrorCode.NOT_CONTROLLER, "This node does not control the cluster.")
    return _Inner(slot, api, version, correlation_id, client_id), content


def _check_principal(data: bytes | None) -> None:
    try:
        if data is None or len(data) < _version.size:
            raise DecodeError("no principal")
        (version,) = _version.unpack_from(data)
        if version != PRINCIPAL_VERSION:
            raise DecodeError(f"a principal of version {version}")
        DefaultPrincipalData.decode(data, version, _version.size)
    except DecodeError as error:
        raise ApiError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from None


API = Api(EnvelopeRequest, range(1), handle)
