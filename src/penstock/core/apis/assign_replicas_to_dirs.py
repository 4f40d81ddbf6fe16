"""AssignReplicasToDirs (73), for controllers. Only the directory LOST means something: nodes have one."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.metadata.lost_replicas import plan_losses
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.assign_replicas_to_dirs import AssignReplicasToDirsRequest


def plan(term: Term, request: AssignReplicasToDirsRequest, version: int) -> Planned:
    return plan_losses(term.image, term.settings, request)


API = Api(AssignReplicasToDirsRequest, range(1), by_plan(plan, is_forwarded=False), CLUSTER_ACTION)
