"""Delegation tokens: making them, renewing and ending them, and what somebody may know of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.core.base.mechanisms import MODULES, SCRAM_SHA_256
from penstock.core.wire.api.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from penstock.core.wire.api.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from penstock.core.wire.api.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from penstock.core.wire.api.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

AS_LONG_AS_MAY_BE: Final = -1
AT_ONCE: Final = -1


def create_token(
    client: Client, owner: str | None = None, renewers: Iterable[str] = (), lifetime_ms: int = AS_LONG_AS_MAY_BE
) -> CreateDelegationTokenResponse:
    """A token for whoever asks, or for another principal (`User:NAME`), if that is allowed."""
    kind, _, name = (owner or "").partition(":")
    named = [CreatableRenewers(principal_type=each, principal_name=who) for each, _, who in _parted(renewers)]
    request = CreateDelegationTokenRequest(
        owner_principal_type=kind or None,
        owner_principal_name=name or None,
        renewers=named,
        max_lifetime_ms=lifetime_ms,
    )
    answer = client.retry(lambda: client.ask(request, CreateDelegationTokenResponse, node=client.controller()))
    check(answer.error_code, "a delegation token")
    return answer


def tokens(client: Client, owners: Iterable[str] = ()) -> list[DescribedDelegationToken]:
    """Those of these principals, or all, as far as one may see them."""
    asked = [
        DescribeDelegationTokenOwner(principal_type=kind, principal_name=name) for kind, _, name in _parted(owners)
    ]
    request = DescribeDelegationTokenRequest(owners=asked or None)
    answer = client.retry(lambda: client.ask(request, DescribeDelegationTokenResponse))
    check(answer.error_code, "the delegation tokens")
    return answer.tokens


def token(client: Client, token_id: str) -> DescribedDelegationToken:
    for each in tokens(client):
        if each.token_id == token_id:
            return each
    raise ClientError(
        f"there is no token {token_id} that you may see", hint="`penstock token list` lists them, by their ids"
    )


def renew_token(client: Client, proof: bytes, for_ms: int = AS_LONG_AS_MAY_BE) -> int:
    """Gives when it ends now."""
    request = RenewDelegationTokenRequest(hmac=proof, renew_period_ms=for_ms)
    answer = client.retry(lambda: client.ask(request, RenewDelegationTokenResponse, node=client.controller()))
    check(answer.error_code, "the token")
    return answer.expiry_timestamp_ms


def expire_token(client: Client, proof: bytes, in_ms: int = AT_ONCE) -> int:
    """Gives when it ends now."""
    request = ExpireDelegationTokenRequest(hmac=proof, expiry_time_period_ms=in_ms)
    answer = client.retry(lambda: client.ask(request, ExpireDelegationTokenResponse, node=client.controller()))
    check(answer.error_code, "the token")
    return answer.expiry_timestamp_ms


def login_settings(token_id: str, proof: str) -> dict[str, str]:
    """How a client shows a token, in Kafka's words."""
    jaas = f'{MODULES[SCRAM_SHA_256]} required username="{token_id}" password="{proof}" tokenauth="true";'
    return {"sasl.mechanism": SCRAM_SHA_256, "sasl.jaas.config": jaas}


def _parted(principals: Iterable[str]) -> list[tuple[str, str, str]]:
    return [each.partition(":") for each in principals]
