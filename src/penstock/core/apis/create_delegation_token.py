"""CreateDelegationToken (38). Versions 1 to 3: from 3 on for others, too, with the right to make tokens of theirs."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.apis.token_requests import NOT_ALLOWED, by_token_plan
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.delegation_tokens import Asking, TokenIndex, owner_of, plan_creation, refused
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.authorizing import Question
from penstock.core.wire.api.create_delegation_token import CreateDelegationTokenRequest
from penstock.core.wire.schema import Response, StoredRecord


def plan(
    asking: Asking, request: CreateDelegationTokenRequest, term: Term, index: TokenIndex
) -> tuple[Sequence[StoredRecord], Response]:
    return plan_creation(asking, request, term.host.new_id)


def not_allowed(request: CreateDelegationTokenRequest, requester: str, version: int) -> Response:
    return refused(request, requester, version, NOT_ALLOWED)


def authorize(question: Question) -> Response | None:
    """Everybody may have tokens of his own. Who may not ask at all hears that, and no word of rights."""
    request, requester = question.request, str(question.context.principal)
    owner = owner_of(request, requester)
    if owner == requester or question.may(Operation.CREATE_TOKENS, Resource.USER, owner):
        return None
    if question.context.is_by_token:
        return None
    question.refuse(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    return refused(request, requester, question.version, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)


API = Api(
    CreateDelegationTokenRequest,
    range(1, 4),
    by_token_plan(plan, not_allowed),
    (Touches(Operation.CREATE_TOKENS, Resource.USER, "owner_principal_name"),),
    authorize=authorize,
)
