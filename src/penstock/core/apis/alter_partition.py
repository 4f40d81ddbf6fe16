"""AlterPartition (56), for controllers. Version 3 comes with the epochs of the in-sync brokers."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.metadata.alter_partition import plan_alteration
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.alter_partition import AlterPartitionRequest


def plan(term: Term, request: AlterPartitionRequest, version: int) -> Planned:
    return plan_alteration(term.image, term.settings, request, version)


API = Api(AlterPartitionRequest, range(2, 4), by_plan(plan, is_forwarded=False), CLUSTER_ACTION)
