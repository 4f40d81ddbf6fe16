"""DeleteAcls (31). Versions 1 to 3: rules that a filter matches are removed."""

from __future__ import annotations

from penstock.core.access.acl_requests import RULES_PER_TURN_MAX, Deleted, planning_deletions
from penstock.core.access.filters import is_malformed
from penstock.core.apis.places import by_plan
from penstock.core.apis.rules import check_kept
from penstock.core.base.ports import Steps
from penstock.core.base.steps import at_once
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.delete_acls import DeleteAclsRequest
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.stored.cluster_metadata import RemoveAccessControlEntryRecord


def plan(term: Term, request: DeleteAclsRequest, version: int) -> Planned | Steps[Planned]:
    check_kept(term.settings)
    planning = planning_deletions(term.image.access.entries, request)
    if len(term.image.access.entries) * len(request.filters) <= RULES_PER_TURN_MAX:
        return _planned(term, at_once(planning))
    return _slowly(term, planning)


def _slowly(term: Term, planning: Steps[Deleted]) -> Steps[Planned]:
    return _planned(term, (yield from planning))


def _planned(term: Term, found: Deleted) -> Planned:
    """Another request may have removed some meanwhile; nothing is removed twice."""
    ids, response = found
    entries = term.image.access.entries
    return [RemoveAccessControlEntryRecord(id=each) for each in ids if each in entries], response


_DECIDED = by_plan(plan)


def handle(node: Node, request: DeleteAclsRequest, slot: Slot) -> Answer:
    if any(map(is_malformed, request.filters)):
        raise DecodeError("DeleteAcls with something UNKNOWN")
    return _DECIDED.handle(node, request, slot)


API = Api(DeleteAclsRequest, range(1, 4), _DECIDED._replace(handle=handle), on_cluster(Operation.ALTER))
