"""DescribeAcls (29). Versions 1 to 3: the rules that a filter matches."""

from __future__ import annotations

from penstock.core.access.acl_requests import describing
from penstock.core.access.filters import is_malformed
from penstock.core.apis.rules import NO_AUTHORIZER, is_kept
from penstock.core.base.errors import ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from penstock.core.wire.errors import DecodeError


def handle(node: Node, request: DescribeAclsRequest, slot: Slot) -> Answer:
    if is_malformed(request):
        raise DecodeError("DescribeAcls with something UNKNOWN")
    if not is_kept(node.settings):
        code = node.error("DescribeAcls", ErrorCode.SECURITY_DISABLED)
        return DescribeAclsResponse(error_code=code, error_message=NO_AUTHORIZER)
    entries = node.image.access.entries
    slot.connection.charge(len(entries))
    return describing(entries, request)


API = Api(DescribeAclsRequest, range(1, 4), handle, on_cluster(Operation.DESCRIBE))
