"""UnregisterBroker (64). Version 0."""

from __future__ import annotations

from penstock.core.apis.places import by_controller
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest

API = Api(
    UnregisterBrokerRequest,
    range(1),
    by_controller(lambda active, asked: active.membership.unregister(asked)),
    on_cluster(Operation.ALTER),
)
