"""BrokerRegistration (62), for controllers. Version 2 names directories, 3 the epoch of the last clean stop."""

from __future__ import annotations

from penstock.core.apis.places import by_controller
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest

API = Api(
    BrokerRegistrationRequest,
    range(5),
    by_controller(
        lambda active, asked: active.membership.register(asked),
        is_forwarded=False,
        speaker=lambda request: request.broker_id,
    ),
    CLUSTER_ACTION,
)
