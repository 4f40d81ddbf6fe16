"""Who shows a signed token is served for as long as the token is good; who shows another one hears that."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.mechanisms import OAUTHBEARER, PLAIN
from penstock.core.base.ports import Signature
from penstock.core.node.serving.context import Principal
from penstock.core.peer.login import LoginRefused
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest
from tests.node.test_authentication import DELAY_MS, SECURE, connect, log_in
from tests.node.world import Client, World
from tests.oauth.minting import packed, unsigned

TOKENS = {
    "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
    "sasl.oauthbearer.jwks.endpoint.url": "https://idp/keys",
    "sasl.oauthbearer.expected.issuer": "https://idp",
    "sasl.oauthbearer.expected.audience": "kafka",
}


class Trusting:
    """Stands for the keys: who signs with `known` is trusted."""

    def refusal(self, listener: str, signature: Signature) -> str | None:
        assert listener == "CLIENTS"
        return None if signature.key_id == "known" else "its key is not known"


def a_world(**settings: str) -> World:
    world = World({**SECURE, **TOKENS, **{name.replace("_", "."): value for name, value in settings.items()}})
    world.node.signing_keys = Trusting()
    return world


def token(world: World, lives_s: int = 600, key_id: str = "known", **changes: Any) -> str:
    now_s = world.now_ms // 1000
    claims = {
        "sub": "alice",
        "iss": "https://idp",
        "aud": "kafka",
        "iat": now_s - 3600,
        "exp": now_s + lives_s,
        **changes,
    }
    return f"{unsigned(claims, alg='RS256', kid=key_id)}.{packed(b'signature')}"


def show(client: Client, shown: str) -> int:
    """Gives the lifetime of the session."""
    return log_in(client, OAUTHBEARER, "", shown)[-1]


def test_a_good_token_lets_in_for_as_long_as_it_is_good() -> None:
    world = a_world()
    client = connect(world)
    lifetime_ms = show(client, token(world))
    assert 598_000 < lifetime_ms <= 600_000
    assert client.connection.context.principal == Principal("User", "alice")
    assert client.ask(MetadataRequest()).brokers
    world.pass_time(lifetime_ms)
    client.send(MetadataRequest())
    assert client.connection.closing


def test_a_session_is_no_longer_than_the_settings_say() -> None:
    world = a_world(connections_max_reauth_ms="60000")
    assert show(connect(world), token(world)) == 60_000
    assert 28_000 < show(connect(world), token(world, 30)) <= 30_000


def test_who_comes_back_with_another_token_goes_on() -> None:
    world = a_world()
    client = connect(world)
    show(client, token(world, 60))
    world.pass_time(50_000)
    assert show(client, token(world, 60)) > 58_000
    world.pass_time(20_000)
    assert client.ask(MetadataRequest()).brokers
    with pytest.raises(LoginRefused, match="re-authentication"):
        show(client, token(world, sub="bob"))
    assert client.connection.closing


def test_one_that_has_expired_within_the_skew_lets_in_for_nothing() -> None:
    world = a_world()
    client = connect(world)
    assert show(client, token(world, -10)) == 0
    client.send(MetadataRequest())
    assert client.connection.closing
    assert not client.replies()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lives_s": -40}, "has expired"),
        ({"key_id": "unknown"}, "its key is not known"),
        ({"aud": "billing"}, "it is for 'billing'"),
        ({"iss": "https://evil"}, "issued by 'https://evil'"),
        ({"sub": ""}, "names nobody"),
    ],
)
def test_a_bad_token_is_told_as_kafka_tells_it(changes: dict[str, Any], why: str) -> None:
    world = a_world()
    client = connect(world)
    shown = token(world, **changes)
    with pytest.raises(LoginRefused) as refused:
        show(client, shown)
    assert str(refused.value) == '{"status":"invalid_token"}'
    assert client.connection.closing
    assert why in world.notes[-1][1]
    assert shown not in str(world.notes)
    assert world.node.metrics.errors["SaslAuthenticate", "SASL_AUTHENTICATION_FAILED"] == 1


def test_garbage_is_told_nothing() -> None:
    world = a_world()
    client = connect(world)
    with pytest.raises(LoginRefused, match="invalid credentials with SASL mechanism OAUTHBEARER"):
        show(client, "two words")
    assert client.connection.closing


def test_a_token_does_not_renew_a_password() -> None:
    world = a_world(connections_max_reauth_ms="60000")
    client = connect(world)
    log_in(client, PLAIN, "alice", "secret")
    assert client.ask(SaslHandshakeRequest(mechanism=OAUTHBEARER)).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_without_keys_nobody_is_let_in() -> None:
    world = World({**SECURE, **TOKENS})
    client = connect(world)
    with pytest.raises(LoginRefused, match="invalid_token"):
        show(client, token(world))
    world.pass_time(DELAY_MS)
    assert "there are no keys" in world.notes[-1][1]
