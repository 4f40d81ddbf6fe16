"""BrokerHeartbeat (63), for controllers. Version 1 names directories that failed, 2 those that take nothing new."""

from __future__ import annotations

from penstock.core.apis.places import by_controller
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest

API = Api(
    BrokerHeartbeatRequest,
    range(3),
    by_controller(
        lambda active, asked: active.membership.beat(asked),
        is_forwarded=False,
        speaker=lambda request: request.broker_id,
    ),
    CLUSTER_ACTION,
)
