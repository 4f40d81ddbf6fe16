"""UnregisterBroker (64). Version 0."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller, forwarded
from penstock.core.node.slots import Api
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest

API = Api(UnregisterBrokerRequest, range(1), forwarded(ask_controller))
