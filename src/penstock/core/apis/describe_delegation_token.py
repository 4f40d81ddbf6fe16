"""DescribeDelegationToken (41). Versions 1 to 3: one's own tokens, those that one may renew, and those that a rule
shows; from 3 on with who asked for each."""

from __future__ import annotations

from penstock.core.apis.rights import may
from penstock.core.apis.token_requests import NOT_ALLOWED, may_ask
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.delegation_tokens import concerns, described, secret_of
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from penstock.core.wire.stored.cluster_metadata import DelegationTokenRecord


def handle(node: Node, request: DescribeDelegationTokenRequest, slot: Slot) -> Answer:
    secret, tokens = secret_of(node.settings), node.image.access.tokens
    if not may_ask(node, slot.context):
        return DescribeDelegationTokenResponse(error_code=node.error(slot.api.name, NOT_ALLOWED))
    if not secret:
        code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        return DescribeDelegationTokenResponse(error_code=node.error(slot.api.name, code))
    slot.connection.charge(len(tokens))
    wanted = (
        None if request.owners is None else [f"{each.principal_type}:{each.principal_name}" for each in request.owners]
    )
    found = [
        described(secret, record, slot.version)
        for record in tokens.values()
        if (wanted is None or any(concerns(record, owner) for owner in wanted)) and _may_see(node, slot, record)
    ]
    return DescribeDelegationTokenResponse(tokens=found)


def _may_see(node: Node, slot: Slot, record: DelegationTokenRecord) -> bool:
    return (
        concerns(record, str(slot.context.principal))
        or may(node, slot, Operation.DESCRIBE, Resource.DELEGATION_TOKEN, record.token_id)
        or may(node, slot, Operation.DESCRIBE_TOKENS, Resource.USER, record.owner)
    )


def authorize(question: object) -> None:
    """What may be seen is decided token by token."""


API = Api(
    DescribeDelegationTokenRequest,
    range(1, 4),
    handle,
    (Touches(Operation.DESCRIBE, Resource.DELEGATION_TOKEN), Touches(Operation.DESCRIBE_TOKENS, Resource.USER)),
    authorize=authorize,
)
