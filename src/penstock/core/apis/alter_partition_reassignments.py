"""AlterPartitionReassignments (45). Version 1 can forbid that the number of replicas changes."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.metadata.reassignments import plan_reassignments
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.alter_partition_reassignments import AlterPartitionReassignmentsRequest


def plan(term: Term, request: AlterPartitionReassignmentsRequest, version: int) -> Planned:
    return plan_reassignments(term.image, term.settings, request)


API = Api(AlterPartitionReassignmentsRequest, range(2), by_plan(plan), on_cluster(Operation.ALTER))
