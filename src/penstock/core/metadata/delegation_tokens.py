"""Delegation tokens (KIP-48): who may make, renew, end and see them, and how long they live.

The metadata holds of a token whose it is and when it ends. What proves it is an HMAC of its id under a secret that all
nodes share (`delegation.token.secret.key`), so whoever reads the metadata cannot log in with it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from copy import copy
from typing import Final, NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.image import Image
from penstock.core.metadata.levels import level_of
from penstock.core.metadata.storage import uuid_text
from penstock.core.wire.api.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from penstock.core.wire.api.describe_delegation_token import DescribedDelegationToken, DescribedDelegationTokenRenewer
from penstock.core.wire.api.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from penstock.core.wire.api.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import DelegationTokenRecord, RemoveDelegationTokenRecord

TOKENS_LEVEL_MIN: Final = 14
"""3.6-IV2, the first level whose records can tell of tokens."""
TOKENS_MAX: Final = 100_000
"""In a cluster: whoever may log in may make some."""
REMOVED_PER_SWEEP_MAX: Final = 1_000
REQUESTERS_SINCE: Final = 3
"""The version in which answers tell who has asked for a token, where that is not its owner."""
NO_TIME: Final = -1
USER_TYPE: Final = "User"
_LONG_MAX: Final = (1 << 63) - 1
Tokens = Mapping[str, DelegationTokenRecord]


class TokenSettings(NamedTuple):
    """Without a secret there are no tokens."""

    secret: bytes
    max_lifetime_ms: int
    renewed_ms: int

    @classmethod
    def of(cls, settings: BrokerSettings) -> TokenSettings:
        names = ("delegation.token.max.lifetime.ms", "delegation.token.expiry.time.ms")
        return cls(secret_of(settings), *(settings[name] for name in names))


def secret_of(settings: BrokerSettings) -> bytes:
    given = settings["delegation.token.secret.key"]
    return b"" if given is None else given.reveal().encode()


def hmac_of(secret: bytes, token_id: str) -> bytes:
    """What whoever shows a token must know."""
    return hmac.digest(secret, token_id.encode(), "sha512")


class TokenIndex:
    """Finds tokens by what proves them. It follows the image, token by token."""

    def __init__(self) -> None:
        self._secret = b""
        self._seen: Tokens | None = None
        self._hmacs: dict[str, bytes] = {}
        self._ids: dict[bytes, str] = {}

    def find(self, secret: bytes, tokens: Tokens, proof: bytes) -> DelegationTokenRecord | None:
        if secret != self._secret:
            self._secret, self._seen = secret, None
            self._hmacs.clear()
            self._ids.clear()
        if tokens is not self._seen:
            self._follow(tokens)
        token_id = self._ids.get(proof)
        return None if token_id is None else tokens[token_id]

    def _follow(self, tokens: Tokens) -> None:
        for gone in self._hmacs.keys() - tokens.keys():
            del self._ids[self._hmacs.pop(gone)]
        for new in tokens.keys() - self._hmacs.keys():
            self._hmacs[new] = found = hmac_of(self._secret, new)
            self._ids[found] = new
        self._seen = tokens


class Asking(NamedTuple):
    """What a plan looks at: the newest image, the settings, who asks, when, and in which version."""

    image: Image
    settings: TokenSettings
    requester: str
    now_ms: int
    version: int

    def check(self) -> None:
        """Whether there are tokens at all."""
        if not self.settings.secret:
            raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        if level_of(self.image.features) < TOKENS_LEVEL_MIN:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)


def owner_of(request: CreateDelegationTokenRequest, requester: str) -> str:
    """For whom a token is to be: for whoever asks, unless another one is named."""
    return (
        f"{request.owner_principal_type}:{request.owner_principal_name}" if request.owner_principal_name else requester
    )


def plan_creation(
    asking: Asking, request: CreateDelegationTokenRequest, new_id: Callable[[], bytes]
) -> tuple[list[StoredRecord], CreateDelegationTokenResponse]:
    """What is refused is told with whose token it would have been."""
    owner = owner_of(request, asking.requester)
    if any(each.principal_type != USER_TYPE for each in request.renewers):
        return [], refused(request, asking.requester, asking.version, ErrorCode.INVALID_PRINCIPAL_TYPE)
    try:
        asking.check()
        if len(asking.image.access.tokens) >= TOKENS_MAX:
            raise ApiError(ErrorCode.POLICY_VIOLATION)
    except ApiError as error:
        return [], about(owner, asking.requester, asking.version, error.code)
    record = _new(asking, request, owner, uuid_text(new_id()))
    return [record], _created(record, asking)


def refused(
    request: CreateDelegationTokenRequest, requester: str, version: int, code: ErrorCode
) -> CreateDelegationTokenResponse:
    """What Kafka's broker refuses before the controller hears of it has no times."""
    response = about(owner_of(request, requester), requester, version, code)
    response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = NO_TIME
    return response


def _new(asking: Asking, request: CreateDelegationTokenRequest, owner: str, token_id: str) -> DelegationTokenRecord:
    lifetime_ms = asking.settings.max_lifetime_ms
    if request.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, request.max_lifetime_ms)
    latest_ms = _later(asking.now_ms, lifetime_ms)
    return DelegationTokenRecord(
        owner=owner,
        requester=asking.requester,
        renewers=[f"{each.principal_type}:{each.principal_name}" for each in request.renewers],
        issue_timestamp=asking.now_ms,
        max_timestamp=latest_ms,
        expiration_timestamp=min(latest_ms, _later(asking.now_ms, asking.settings.renewed_ms)),
        token_id=token_id,
    )


def plan_renewal(
    asking: Asking, request: RenewDelegationTokenRequest, index: TokenIndex
) -> tuple[list[StoredRecord], RenewDelegationTokenResponse]:
    try:
        changed = _renewed(asking, request, index)
    except ApiError as error:
        return [], RenewDelegationTokenResponse(error_code=error.code)
    return [changed], RenewDelegationTokenResponse(expiry_timestamp_ms=changed.expiration_timestamp)


def _renewed(asking: Asking, request: RenewDelegationTokenRequest, index: TokenIndex) -> DelegationTokenRecord:
    record = _found(asking, request.hmac, index)
    if has_ended(record, asking.now_ms):
        raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    _check_renewer(record, asking.requester)
    longer_ms = asking.settings.renewed_ms
    if request.renew_period_ms > 0:
        longer_ms = min(longer_ms, request.renew_period_ms)
    return _ending(record, asking.now_ms, longer_ms)


def plan_expiry(
    asking: Asking, request: ExpireDelegationTokenRequest, index: TokenIndex
) -> tuple[list[StoredRecord], ExpireDelegationTokenResponse]:
    """At once where the time is negative, also one that has ended and is still there."""
    try:
        record = _found(asking, request.hmac, index)
        _check_renewer(record, asking.requester)
        if request.expiry_time_period_ms < 0:
            gone = RemoveDelegationTokenRecord(token_id=record.token_id)
            return [gone], ExpireDelegationTokenResponse(expiry_timestamp_ms=asking.now_ms)
        if has_ended(record, asking.now_ms):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    except ApiError as error:
        return [], ExpireDelegationTokenResponse(error_code=error.code)
    changed = _ending(record, asking.now_ms, request.expiry_time_period_ms)
    return [changed], ExpireDelegationTokenResponse(expiry_timestamp_ms=changed.expiration_timestamp)


def ended(tokens: Tokens, now_ms: int) -> list[RemoveDelegationTokenRecord]:
    """Some of those that nobody can log in with any more, to be taken out of the metadata."""
    found = [token_id for token_id, record in tokens.items() if has_ended(record, now_ms)]
    return [RemoveDelegationTokenRecord(token_id=each) for each in found[:REMOVED_PER_SWEEP_MAX]]


def has_ended(record: DelegationTokenRecord, now_ms: int) -> bool:
    return min(record.max_timestamp, record.expiration_timestamp) < now_ms


def concerns(record: DelegationTokenRecord, principal: str) -> bool:
    """Whether a token belongs to somebody, was asked for by him, or may be renewed by him."""
    return principal in (record.owner, record.requester) or principal in record.renewers


def described(secret: bytes, record: DelegationTokenRecord, version: int) -> DescribedDelegationToken:
    kind, name = parted(record.owner)
    requester_kind, requester = _requester(record.requester, version)
    renewers = [_renewer(*parted(each)) for each in record.renewers]
    return DescribedDelegationToken(
        principal_type=kind,
        principal_name=name,
        token_requester_principal_type=requester_kind,
        token_requester_principal_name=requester,
        issue_timestamp=record.issue_timestamp,
        expiry_timestamp=record.expiration_timestamp,
        max_timestamp=record.max_timestamp,
        token_id=record.token_id,
        hmac=hmac_of(secret, record.token_id),
        renewers=renewers,
    )


def _renewer(kind: str, name: str) -> DescribedDelegationTokenRenewer:
    return DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)


def parted(principal: str) -> tuple[str, str]:
    """The type and the name of a principal."""
    kind, _, name = principal.partition(":")
    return kind, name


def about(owner: str, requester: str, version: int, code: ErrorCode = ErrorCode.NONE) -> CreateDelegationTokenResponse:
    """An answer that says nothing yet but whose token is asked for, and by whom, where a version has room for it."""
    kind, name = parted(owner)
    requester_kind, requester_name = _requester(requester, version)
    return CreateDelegationTokenResponse(
        error_code=code,
        principal_type=kind,
        principal_name=name,
        token_requester_principal_type=requester_kind,
        token_requester_principal_name=requester_name,
    )


def _created(record: DelegationTokenRecord, asking: Asking) -> CreateDelegationTokenResponse:
    response = about(record.owner, record.requester, asking.version)
    response.issue_timestamp_ms = record.issue_timestamp
    response.expiry_timestamp_ms = record.expiration_timestamp
    response.max_timestamp_ms = record.max_timestamp
    response.token_id = record.token_id
    response.hmac = hmac_of(asking.settings.secret, record.token_id)
    return response


def _requester(principal: str, version: int) -> tuple[str, str]:
    return parted(principal) if version >= REQUESTERS_SINCE else ("", "")


def _found(asking: Asking, proof: bytes, index: TokenIndex) -> DelegationTokenRecord:
    asking.check()
    record = index.find(asking.settings.secret, asking.image.access.tokens, bytes(proof))
    if record is None:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
    return record


def _check_renewer(record: DelegationTokenRecord, requester: str) -> None:
    if requester != record.owner and requester not in record.renewers:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _ending(record: DelegationTokenRecord, now_ms: int, longer_ms: int) -> DelegationTokenRecord:
    changed = copy(record)
    changed.expiration_timestamp = min(record.max_timestamp, _later(now_ms, longer_ms))
    return changed


def _later(now_ms: int, longer_ms: int) -> int:
    return min(now_ms + longer_ms, _LONG_MAX)
