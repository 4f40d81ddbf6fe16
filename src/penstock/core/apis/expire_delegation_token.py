"""ExpireDelegationToken (40). Versions 1 and 2: who may renew a token may end it, too, at once or at some time."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.apis.token_requests import NOT_ALLOWED, by_token_plan
from penstock.core.metadata.delegation_tokens import NO_TIME, Asking, TokenIndex, plan_expiry
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from penstock.core.wire.schema import Response, StoredRecord


def plan(
    asking: Asking, request: ExpireDelegationTokenRequest, term: Term, index: TokenIndex
) -> tuple[Sequence[StoredRecord], Response]:
    return plan_expiry(asking, request, index)


def not_allowed(request: ExpireDelegationTokenRequest, requester: str, version: int) -> Response:
    return ExpireDelegationTokenResponse(error_code=NOT_ALLOWED, expiry_timestamp_ms=NO_TIME)


API = Api(ExpireDelegationTokenRequest, range(1, 3), by_token_plan(plan, not_allowed), NOTHING, is_a_change=True)
