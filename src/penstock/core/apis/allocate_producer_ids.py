"""AllocateProducerIds (67), for controllers. Version 0."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller
from penstock.core.node.slots import Api
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest

API = Api(AllocateProducerIdsRequest, range(1), ask_controller)
