"""Delegation tokens: whoever has logged in gets one, whoever shows it is its owner; nobody else has any use of one."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.mechanisms import PLAIN, SCRAM_SHA_256, SCRAM_SHA_512
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.node.membership.internal_topics import AUDIT_TOPIC
from penstock.core.node.serving.context import Principal
from penstock.core.peer.login import LoginRefused
from penstock.core.wire.api.create_acls import CreateAclsRequest
from penstock.core.wire.api.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from penstock.core.wire.api.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from penstock.core.wire.api.expire_delegation_token import ExpireDelegationTokenRequest
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.renew_delegation_token import RenewDelegationTokenRequest
from tests.access.town import entry
from tests.node.test_authentication import SECURE, connect, log_in
from tests.node.world import Client, World, fetch, found_in, values_of

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
TOKENS = {
    **SECURE,
    "delegation.token.secret.key": "of all nodes",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
}
SAID = {"alice": "secret", "bob": "other"}


def a_world(**settings: str) -> World:
    return World({**TOKENS, **{name.replace("_", "."): value for name, value in settings.items()}})


@pytest.fixture
def world() -> World:
    return a_world()


def as_user(world: World, name: str) -> Client:
    client = connect(world)
    log_in(client, PLAIN, name, SAID[name])
    return client


def made(client: Client, max_lifetime_ms: int = -1, renewers: tuple[str, ...] = (), **more: Any) -> Any:
    named = [CreatableRenewers(principal_type="User", principal_name=each) for each in renewers]
    return client.ask(CreateDelegationTokenRequest(renewers=named, max_lifetime_ms=max_lifetime_ms, **more))


def show(world: World, token: Any, mechanism: str = SCRAM_SHA_256) -> tuple[Client, int]:
    client = connect(world)
    proof = b64encode(token.hmac).decode()
    return client, log_in(client, mechanism, token.token_id, proof, is_token=True)[-1]


def seen(client: Client, *owners: str) -> list[str]:
    asked = [DescribeDelegationTokenOwner(principal_type="User", principal_name=each) for each in owners]
    answer = client.ask(DescribeDelegationTokenRequest(owners=asked or None))
    assert answer.error_code == 0
    return [each.token_id for each in answer.tokens]


@pytest.mark.parametrize("mechanism", [SCRAM_SHA_256, SCRAM_SHA_512])
def test_whoever_shows_a_token_is_its_owner(world: World, mechanism: str) -> None:
    token = made(as_user(world, "alice"))
    assert token.error_code == 0
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == DAY_MS
    assert token.max_timestamp_ms - token.issue_timestamp_ms == 7 * DAY_MS
    client, lifetime_ms = show(world, token, mechanism)
    assert client.connection.context.principal == Principal("User", "alice")
    assert DAY_MS - 5_000 < lifetime_ms <= DAY_MS
    assert b64encode(token.hmac).decode() not in str(world.notes)


def test_a_token_makes_no_token(world: World) -> None:
    token = made(as_user(world, "alice"))
    client, _ = show(world, token)
    not_allowed = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    answer = made(client)
    assert (answer.error_code, answer.principal_name, answer.max_timestamp_ms) == (not_allowed, "alice", -1)
    assert client.ask(RenewDelegationTokenRequest(hmac=token.hmac)).error_code == not_allowed
    assert client.ask(ExpireDelegationTokenRequest(hmac=token.hmac)).error_code == not_allowed
    assert client.ask(DescribeDelegationTokenRequest(owners=None)).error_code == not_allowed
    assert made(client, owner_principal_type="User", owner_principal_name="bob").error_code == not_allowed


def test_a_plain_connection_makes_no_token(world: World) -> None:
    answer = made(connect(world, "OPEN"))
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.token_id == ""


def test_what_is_wrong_lets_nobody_in(world: World) -> None:
    token = made(as_user(world, "alice"))
    wrong = [(token.token_id, "guessed"), ("nobody", "guessed"), ("alice", "secret")]
    for name, proof in wrong:
        with pytest.raises(LoginRefused, match="invalid credentials"):
            log_in(connect(world), SCRAM_SHA_256, name, proof, is_token=True)
    with pytest.raises(LoginRefused):
        log_in(connect(world), SCRAM_SHA_256, token.token_id, b64encode(token.hmac).decode())


def test_without_a_secret_there_are_none() -> None:
    world = World({**SECURE})
    alice = as_user(world, "alice")
    disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    answer = made(alice)
    assert (answer.error_code, answer.principal_name, answer.token_id) == (disabled, "alice", "")
    assert alice.ask(RenewDelegationTokenRequest(hmac=b"x")).error_code == disabled
    assert alice.ask(ExpireDelegationTokenRequest(hmac=b"x")).error_code == disabled
    assert alice.ask(DescribeDelegationTokenRequest(owners=None)).error_code == disabled


def test_a_token_lives_as_long_as_it_is_renewed_and_no_longer(world: World) -> None:
    alice, bob = as_user(world, "alice"), as_user(world, "bob")
    token = made(alice, max_lifetime_ms=3 * HOUR_MS, renewers=("bob",))
    assert token.expiry_timestamp_ms == token.max_timestamp_ms
    shorter = alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=HOUR_MS))
    assert shorter.expiry_timestamp_ms < token.max_timestamp_ms
    renewed = bob.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=2 * HOUR_MS))
    assert shorter.expiry_timestamp_ms < renewed.expiry_timestamp_ms < token.max_timestamp_ms
    most = bob.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1))
    assert most.expiry_timestamp_ms == token.max_timestamp_ms


def test_others_neither_renew_nor_end_it(world: World) -> None:
    alice, bob = as_user(world, "alice"), as_user(world, "bob")
    token = made(alice)
    mismatch = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert bob.ask(RenewDelegationTokenRequest(hmac=token.hmac)).error_code == mismatch
    assert bob.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1)).error_code == mismatch
    unknown = alice.ask(RenewDelegationTokenRequest(hmac=b"something else"))
    assert (unknown.error_code, unknown.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)


def test_a_token_that_was_ended_lets_nobody_in(world: World) -> None:
    alice = as_user(world, "alice")
    token = made(alice)
    inside, _ = show(world, token)
    assert alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1)).error_code == 0
    assert not world.node.image.access.tokens
    with pytest.raises(LoginRefused):
        show(world, token)
    assert inside.ask(MetadataRequest(topics=[])).error_code == 0, "whoever is in stays until the session ends"


def test_a_token_ends_by_itself_and_leaves_the_metadata(world: World) -> None:
    token = made(as_user(world, "alice"), max_lifetime_ms=60_000)
    inside, lifetime_ms = show(world, token)
    assert lifetime_ms <= 60_000
    world.pass_time(60_001)
    with pytest.raises(LoginRefused):
        show(world, token)
    alice = as_user(world, "alice")
    expired = ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert alice.ask(RenewDelegationTokenRequest(hmac=token.hmac)).error_code == expired
    assert alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=5)).error_code == expired
    assert world.node.image.access.tokens
    world.pass_time(HOUR_MS)
    assert not world.node.image.access.tokens
    inside.send(MetadataRequest())
    assert inside.connection.closing


def test_who_sees_which_tokens(world: World) -> None:
    alice, bob = as_user(world, "alice"), as_user(world, "bob")
    own, shared, bobs = made(alice).token_id, made(alice, renewers=("bob",)).token_id, made(bob).token_id
    assert set(seen(alice)) == {own, shared}
    assert set(seen(bob)) == {shared, bobs}
    assert seen(bob, "alice") == [shared]
    assert alice.ask(DescribeDelegationTokenRequest(owners=[])).tokens == []
    admin = connect(world, "OPEN")
    rights = [entry("bob", f"DESCRIBE DELEGATION_TOKEN {own}"), entry("alice", "DESCRIBE_TOKENS USER User:bob")]
    assert not any(each.error_code for each in admin.ask(CreateAclsRequest(creations=rights)).results)
    assert set(seen(bob)) == {own, shared, bobs}
    assert set(seen(alice)) == {own, shared, bobs}


def test_tokens_of_others_take_a_right(world: World) -> None:
    alice = as_user(world, "alice")
    for_bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
    refused = made(alice, **for_bob)
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (refused.principal_name, refused.token_requester_principal_name) == ("bob", "alice")
    creations = [entry("alice", "CREATE_TOKENS USER User:bob")]
    connect(world, "OPEN").ask(CreateAclsRequest(creations=creations))
    token = made(alice, **for_bob)
    assert (token.error_code, token.principal_name, token.token_requester_principal_name) == (0, "bob", "alice")
    client, _ = show(world, token)
    assert client.connection.context.principal == Principal("User", "bob")
    assert seen(alice) == [token.token_id], "whoever asked for it sees it"
    mismatch = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert alice.ask(RenewDelegationTokenRequest(hmac=token.hmac)).error_code == mismatch


def test_only_users_renew(world: World) -> None:
    renewers = [CreatableRenewers(principal_type="Group", principal_name="g")]
    answer = as_user(world, "alice").ask(CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=-1))
    assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


def test_tokens_survive_a_restart(world: World) -> None:
    token = made(as_user(world, "alice"))
    world.restart()
    client, _ = show(world, token)
    assert client.connection.context.principal == Principal("User", "alice")


def test_tokens_are_on_record_and_what_proves_them_is_not() -> None:
    world = a_world(penstock_audit_enable="true")
    world.pass_time(5_000)
    alice = as_user(world, "alice")
    token = made(alice, renewers=("bob",))
    alice.ask(RenewDelegationTokenRequest(hmac=token.hmac))
    alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1))
    world.pass_time(3_000)
    answer = connect(world, "OPEN").ask(fetch({(AUDIT_TOPIC, 0): 0}, max_bytes=1 << 20, partition_bytes=1 << 20), 11)
    events = [json.loads(value or b"") for value in values_of(found_in(answer)[AUDIT_TOPIC, 0].records)]
    told = {each["api"]: each for each in events if each["event"] == "change"}
    assert {"CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken"} <= told.keys()
    assert told["CreateDelegationToken"]["names"]["principal_name"] == ["bob"]
    assert all(each["principal"] == "User:alice" for each in told.values())
    for secret in (token.hmac.hex(), b64encode(token.hmac).decode(), token.token_id):
        assert secret not in str(events)
