"""RenewDelegationToken (39). Versions 1 and 2: who owns a token, or is named as one who renews it, lets it live
longer."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.apis.token_requests import NOT_ALLOWED, by_token_plan
from penstock.core.metadata.delegation_tokens import NO_TIME, Asking, TokenIndex, plan_renewal
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from penstock.core.wire.schema import Response, StoredRecord


def plan(
    asking: Asking, request: RenewDelegationTokenRequest, term: Term, index: TokenIndex
) -> tuple[Sequence[StoredRecord], Response]:
    return plan_renewal(asking, request, index)


def not_allowed(request: RenewDelegationTokenRequest, requester: str, version: int) -> Response:
    return RenewDelegationTokenResponse(error_code=NOT_ALLOWED, expiry_timestamp_ms=NO_TIME)


API = Api(RenewDelegationTokenRequest, range(1, 3), by_token_plan(plan, not_allowed), NOTHING, is_a_change=True)
