"""ListPartitionReassignments (46). Version 0."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.metadata.reassignments import list_reassignments
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.list_partition_reassignments import ListPartitionReassignmentsRequest


def plan(term: Term, request: ListPartitionReassignmentsRequest, version: int) -> Planned:
    return [], list_reassignments(term.image, request)


API = Api(ListPartitionReassignmentsRequest, range(1), by_plan(plan), on_cluster(Operation.DESCRIBE))
