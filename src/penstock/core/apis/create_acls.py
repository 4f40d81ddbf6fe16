"""CreateAcls (30). Versions 1 to 3: rules are added; one that is there already is there."""

from __future__ import annotations

from penstock.core.access.acl_requests import plan_creations
from penstock.core.access.words import UNKNOWN
from penstock.core.apis.places import by_plan
from penstock.core.apis.rules import check_kept
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.create_acls import AclCreation, CreateAclsRequest
from penstock.core.wire.errors import DecodeError


def plan(term: Term, request: CreateAclsRequest, version: int) -> Planned:
    check_kept(term.settings)
    return plan_creations(term.image.access.rules, request, term.host.new_id)


_DECIDED = by_plan(plan)


def handle(node: Node, request: CreateAclsRequest, slot: Slot) -> Answer:
    if any(_is_malformed(each) for each in request.creations):
        raise DecodeError("CreateAcls with something UNKNOWN")
    return _DECIDED.handle(node, request, slot)


def _is_malformed(asked: AclCreation) -> bool:
    """Whether it says UNKNOWN in so many words, which no client may."""
    return UNKNOWN in (asked.resource_type, asked.resource_pattern_type, asked.operation, asked.permission_type)


API = Api(CreateAclsRequest, range(1, 4), _DECIDED._replace(handle=handle), on_cluster(Operation.ALTER))
