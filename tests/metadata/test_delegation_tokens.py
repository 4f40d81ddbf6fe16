"""Plans about delegation tokens, and the index that finds one by its proof."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import replaced
from penstock.core.metadata import delegation_tokens
from penstock.core.metadata.access import AccessImage
from penstock.core.metadata.delegation_tokens import (
    REMOVED_PER_SWEEP_MAX,
    Asking,
    TokenIndex,
    TokenSettings,
    ended,
    hmac_of,
    plan_creation,
    plan_renewal,
)
from penstock.core.metadata.features import METADATA_VERSION
from penstock.core.metadata.image import Image
from penstock.core.wire.api.create_delegation_token import CreateDelegationTokenRequest
from penstock.core.wire.api.renew_delegation_token import RenewDelegationTokenRequest
from penstock.core.wire.stored.cluster_metadata import DelegationTokenRecord
from tests.examples import examples

SECRET = b"secret"
LONG_MAX = (1 << 63) - 1
IDS = st.sampled_from(["a", "b", "c", "d"])


def record(token_id: str, expires_ms: int = 100, latest_ms: int = 100) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner="User:alice",
        requester="User:alice",
        renewers=[],
        issue_timestamp=0,
        max_timestamp=latest_ms,
        expiration_timestamp=expires_ms,
        token_id=token_id,
    )


def asking(*records: DelegationTokenRecord, now_ms: int = 0, renewed_ms: int = 50, level: int | None = None) -> Asking:
    image = replaced(Image(), access=AccessImage(tokens={each.token_id: each for each in records}))
    if level is not None:
        image = replaced(image, features={METADATA_VERSION: level})
    return Asking(image, TokenSettings(SECRET, 1_000, renewed_ms), "User:alice", now_ms, 3)


@given(st.lists(st.sets(IDS), max_size=6), st.lists(st.sampled_from([b"one", b"two"]), max_size=6))
@examples(200)
def test_the_index_finds_what_a_search_finds(histories: list[set[str]], secrets: list[bytes]) -> None:
    index = TokenIndex()
    for ids, secret in zip(histories, secrets, strict=False):
        tokens = {each: record(each) for each in ids}
        for each in "abcd":
            expected = next((tokens[one] for one in tokens if hmac_of(secret, one) == hmac_of(secret, each)), None)
            assert index.find(secret, tokens, hmac_of(secret, each)) is expected
        assert index.find(secret, tokens, b"") is None


def test_what_is_renewed_never_outlives_its_longest_life() -> None:
    request = RenewDelegationTokenRequest(hmac=hmac_of(SECRET, "a"), renew_period_ms=LONG_MAX)
    for renewed_ms, expected in ((5, 25), (50, 70), (LONG_MAX, 100)):
        records, answer = plan_renewal(asking(record("a"), now_ms=20, renewed_ms=renewed_ms), request, TokenIndex())
        (changed,) = records
        assert isinstance(changed, DelegationTokenRecord)
        assert changed.expiration_timestamp == answer.expiry_timestamp_ms == expected


def test_a_plan_changes_no_record_of_the_image() -> None:
    kept = record("a", expires_ms=30)
    plan_renewal(asking(kept), RenewDelegationTokenRequest(hmac=hmac_of(SECRET, "a")), TokenIndex())
    assert kept.expiration_timestamp == 30


def test_an_old_cluster_gets_none() -> None:
    request = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1)
    records, answer = plan_creation(asking(level=13), request, lambda: bytes(16))
    assert (records, answer.error_code) == ([], ErrorCode.UNSUPPORTED_VERSION)
    records, answer = plan_creation(asking(level=14), request, lambda: bytes(16))
    assert (len(records), answer.error_code) == (1, ErrorCode.NONE)


def test_there_are_not_more_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    request = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=LONG_MAX)
    full = asking(*(record(str(number)) for number in range(3)))
    monkeypatch.setattr(delegation_tokens, "TOKENS_MAX", 3)
    records, answer = plan_creation(full, request, lambda: bytes(16))
    assert (records, answer.error_code) == ([], ErrorCode.POLICY_VIOLATION)


def test_those_that_have_ended_are_removed_some_at_a_time() -> None:
    tokens = {str(number): record(str(number), expires_ms=number) for number in range(REMOVED_PER_SWEEP_MAX + 10)}
    assert {each.token_id for each in ended(tokens, 3)} == {"0", "1", "2"}
    assert len(ended(tokens, 10_000)) == REMOVED_PER_SWEEP_MAX
