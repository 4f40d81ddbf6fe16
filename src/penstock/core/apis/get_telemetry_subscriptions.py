"""GetTelemetrySubscriptions (71). Version 0: which of its own metrics a client should push, how often, and as whom.

A client without an id is given one. Sums are asked for as they stand and not as differences: what is charted from them
then outlives a push that was lost.
"""

from __future__ import annotations

from penstock.core.apis.telemetry_clients import US_PER_MS, instance_of
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.observing.telemetry import ACCEPTED, NO_ID
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


def handle(node: Node, request: GetTelemetrySubscriptionsRequest, slot: Slot) -> Answer:
    instance_id = request.client_instance_id
    if instance_id == NO_ID:
        instance_id = node.new_id()
    instance = instance_of(node, slot, instance_id)
    code = node.metrics.telemetry.asks(instance, node.now_us // US_PER_MS)
    if code is not ErrorCode.NONE:
        return GetTelemetrySubscriptionsResponse(error_code=node.error("GetTelemetrySubscriptions", code))
    return GetTelemetrySubscriptionsResponse(
        error_code=0,
        client_instance_id=instance_id,
        subscription_id=instance.wanted.id_for(instance_id),
        accepted_compression_types=[int(each) for each in ACCEPTED],
        push_interval_ms=instance.wanted.interval_ms,
        telemetry_max_bytes=node.settings["telemetry.max.bytes"],
        delta_temporality=False,
        requested_metrics=list(instance.wanted.metrics),
    )


API = Api(GetTelemetrySubscriptionsRequest, range(1), handle, NOTHING)
