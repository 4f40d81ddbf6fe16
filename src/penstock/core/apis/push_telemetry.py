"""PushTelemetry (72). Version 0: a client's own metrics in OpenTelemetry's Protobuf, which /metrics/full tells."""

from __future__ import annotations

from penstock.core.apis.telemetry_clients import US_PER_MS, instance_of
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.node.node import Node
from penstock.core.node.observing.telemetry import RESERVED, Instance, Push
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.push_telemetry import PushTelemetryRequest, PushTelemetryResponse


def handle(node: Node, request: PushTelemetryRequest, slot: Slot) -> Answer:
    if request.client_instance_id in RESERVED:
        return PushTelemetryResponse(error_code=node.error("PushTelemetry", ErrorCode.INVALID_REQUEST))
    return _take(node, request, instance_of(node, slot, request.client_instance_id))


def _take(node: Node, request: PushTelemetryRequest, instance: Instance) -> Steps[PushTelemetryResponse]:
    """It is read in turns; its bytes are the request's, whose buffer is used again by then."""
    push = Push(request.subscription_id, request.compression_type, request.terminating, bytes(request.metrics))
    known_id = instance.wanted.id_for(request.client_instance_id)
    bytes_max, now_ms = node.settings["telemetry.max.bytes"], node.now_us // US_PER_MS
    code = yield from node.metrics.telemetry.pushed(instance, push, known_id, bytes_max, now_ms)
    if code is not ErrorCode.NONE:
        node.error("PushTelemetry", code)
    return PushTelemetryResponse(error_code=code)


API = Api(PushTelemetryRequest, range(1), handle, NOTHING)
