"""DescribeClientQuotas (48). Versions 0 and 1: which quotas there are, by a filter over whom they are for."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.client_quotas import describe
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse


def handle(node: Node, request: DescribeClientQuotasRequest, slot: Slot) -> DescribeClientQuotasResponse:
    response = describe(node.image, request)
    if response.error_code:
        node.error("DescribeClientQuotas", ErrorCode(response.error_code))
    return response


def refuse(
    request: DescribeClientQuotasRequest, version: int, code: ErrorCode, message: str | None
) -> DescribeClientQuotasResponse:
    """That there are none is another answer."""
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


API = Api(DescribeClientQuotasRequest, range(2), handle, on_cluster(Operation.DESCRIBE_CONFIGS), refuse=refuse)
