"""AlterClientQuotas (49). Versions 0 and 1: quotas of users, client ids, both, addresses, and of the others."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.client_quotas import plan_alterations
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ResponseEntityData,
    ResponseEntryData,
)


def plan(term: Term, request: AlterClientQuotasRequest, version: int) -> Planned:
    return plan_alterations(term.image, request)


def refuse(
    request: AlterClientQuotasRequest, version: int, code: ErrorCode, message: str | None
) -> AlterClientQuotasResponse:
    """Whom each entry is for is said again."""
    entries = [
        ResponseEntryData(
            error_code=code,
            error_message=message,
            entity=[
                ResponseEntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity
            ],
        )
        for entry in request.entries
    ]
    return AlterClientQuotasResponse(entries=entries)


API = Api(AlterClientQuotasRequest, range(2), by_plan(plan), on_cluster(Operation.ALTER_CONFIGS), refuse=refuse)
