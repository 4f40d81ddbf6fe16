"""Forwarding: what only the controller can decide is sent there in an envelope, with who asked and from where.

The answer comes back as it will be sent, and is sent as it came.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, cast

from penstock.core.base.errors import ErrorCode
from penstock.core.node.links.purposes import FORWARD
from penstock.core.node.membership.channel import ControllerChannel
from penstock.core.node.membership.ports import Forwarder
from penstock.core.node.serving.api import PENDING, Answer
from penstock.core.node.serving.context import RequestContext
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.core.wire.frames import encode_request_header, parse_response_header
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request, Response
from penstock.core.wire.stored.principal import DefaultPrincipalData

PRINCIPAL_VERSION: Final = 0
_NOWHERE: Final = bytes(4)
_version = struct.Struct(">h")
_size = struct.Struct(">i")


def envelope_of(request: Request, slot: Slot) -> EnvelopeRequest:
    """A client's request as the controller gets it: as if it had come from the client itself."""
    header = encode_request_header(request.KEY, slot.version, slot.correlation_id, slot.context.client_id)
    return EnvelopeRequest(
        request_data=header + request.encode(slot.version),
        request_principal=_principal_of(slot.context),
        client_host_address=_packed(slot.context.address),
    )


def _principal_of(context: RequestContext) -> bytes:
    kind, name = context.principal
    principal = DefaultPrincipalData(type=kind, name=name, token_authenticated=context.is_by_token)
    return _version.pack(PRINCIPAL_VERSION) + principal.encode(PRINCIPAL_VERSION)


def _packed(host: str) -> bytes:
    """An address as bytes. A host that is known by a name only has none, and nothing depends on it yet."""
    # A node that stands alone forwards nothing, and should not wait for this module when it starts.
    from ipaddress import ip_address

    try:
        return ip_address(host).packed
    except ValueError:
        return _NOWHERE


class Forwarding:
    """The broker's side."""

    def __init__(self, node: Forwarder, channel: ControllerChannel) -> None:
        self._node = node
        self._channel = channel

    def send(self, request: Request, slot: Slot, handle: Callable[[], Answer]) -> Answer:
        """Answer a slot with what the controller says. `handle` decides here, should this node have become it."""

        def heard(data: bytes) -> None:
            slot.reply_frame(_size.pack(len(data)) + data)

        self._ask(request, slot, heard, lambda: self._settle(slot, handle()))
        return PENDING

    def ask(self, request: Request, slot: Slot, done: Callable[[Response], None], here: Callable[[], None]) -> None:
        """Ask the controller a part of what a slot asks, and do something with the answer."""

        def heard(data: bytes) -> None:
            _, position = parse_response_header(data, request.KEY, slot.version)
            done(response_class(request.KEY).decode(data, slot.version, position))

        self._ask(request, slot, heard, here)

    def _ask(self, request: Request, slot: Slot, done: Callable[[bytes], None], here: Callable[[], None]) -> None:
        def heard(answer: Response | None) -> None:
            self._heard(request, slot, cast(EnvelopeResponse | None, answer), done)

        self._channel.ask(envelope_of(request, slot), self._timeout_ms(request), heard, FORWARD, here)

    def _timeout_ms(self, request: Request) -> int:
        """A client's patience, as far as it says how long it has; but never more than ours."""
        own_ms: int = self._node.settings["request.timeout.ms"]
        asked_ms: int = getattr(request, "timeout_ms", own_ms)
        return max(1, min(asked_ms, own_ms))

    def _settle(self, slot: Slot, answer: Answer) -> None:
        """A handler of this node has taken the request over."""
        if isinstance(answer, Response):
            slot.reply(answer)
        elif answer is not PENDING:
            self._node.run_steps(slot, answer)  # type: ignore[arg-type]  # what is neither is a generator of steps

    def _heard(
        self, request: Request, slot: Slot, answer: EnvelopeResponse | None, done: Callable[[bytes], None]
    ) -> None:
        if answer is None:
            self._refuse(request, slot, ErrorCode.REQUEST_TIMED_OUT)
        elif answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            # The controller is an older one than the one whose versions the client has seen: it must look again.
            slot.connection.close()
        elif answer.error_code or not self._is_for(slot, request, answer.response_data):
            self._node.log(
                "warning",
                "membership",
                f"the controller could not open a forwarded {slot.api.name}: {answer.error_code}",
            )
            self._refuse(request, slot, ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            done(cast(bytes, answer.response_data))

    def _is_for(self, slot: Slot, request: Request, data: bytes | None) -> bool:
        return (
            data is not None
            and len(data) >= _size.size
            and (parse_response_header(data, request.KEY, slot.version)[0] == slot.correlation_id)
        )

    def _refuse(self, request: Request, slot: Slot, code: ErrorCode) -> None:
        self._node.error(slot.api.name, code)
        slot.reply(slot.api.refuse(request, slot.version, code, None))
