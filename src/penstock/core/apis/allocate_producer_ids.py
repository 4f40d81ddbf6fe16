"""AllocateProducerIds (67), for controllers. Version 0."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.metadata.producer_ids import plan_producer_ids
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest


def plan(term: Term, request: AllocateProducerIdsRequest, version: int) -> Planned:
    return plan_producer_ids(term.image, request)


API = Api(AllocateProducerIdsRequest, range(1), by_plan(plan, is_forwarded=False), CLUSTER_ACTION)
