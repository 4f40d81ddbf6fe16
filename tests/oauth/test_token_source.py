"""Where clients get tokens, and what they are told when there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.errors import ClientError
from penstock.client.librdkafka import librdkafka_security
from penstock.client.security import LOGIN_HANDLER, SECRETS, security_of
from penstock.oauth.errors import OAuthError
from penstock.oauth.token_source import KEPT_MAX, TokenSource, _kept, token_of
from tests.oauth.provider import CLIENT, SECRET, Provider

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
PROTOCOL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
URL = "sasl.oauthbearer.token.endpoint.url"
CREDENTIALS = "sasl.oauthbearer.client.credentials.client"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


def test_a_provider_is_asked_once_for_a_token_that_is_good(provider: Provider) -> None:
    source = TokenSource(provider.token_url, CLIENT, SECRET, "read write")
    found = token_of(source)
    assert token_of(source) is found
    assert provider.forms == [{"grant_type": ["client_credentials"], "scope": ["read write"]}]
    assert SECRET not in repr(source)


def test_a_token_that_has_lived_is_replaced(provider: Provider) -> None:
    provider.lives_s = -1
    source = TokenSource(provider.token_url, CLIENT, SECRET)
    token_of(source)
    token_of(source)
    assert len(provider.forms) == 2


def test_what_is_kept_is_bounded(provider: Provider) -> None:
    for number in range(KEPT_MAX + 5):
        token_of(TokenSource(provider.token_url, CLIENT, SECRET, f"scope {number}"))
    assert len(_kept) <= KEPT_MAX


def test_a_file_is_read_at_each_login(tmp_path: Path) -> None:
    path = tmp_path / "token"
    security = security_of({**PROTOCOL, URL: path.as_uri(), "sasl.login.callback.handler.class": LOGIN_HANDLER})
    for token in ("one.two.three", "four.five.six"):
        path.write_text(f"{token}\n")
        identity = security.who()
        assert identity is not None
        assert (identity.mechanism, identity.password) == ("OAUTHBEARER", token)
        assert token not in repr(identity)


def test_jaas_names_the_credentials_too(provider: Provider) -> None:
    jaas = f'{MODULE} required clientId="{CLIENT}" clientSecret="{SECRET}" scope="s";'
    settings = {**PROTOCOL, URL: provider.token_url, "sasl.jaas.config": jaas}
    assert security_of(settings).tokens == TokenSource(provider.token_url, CLIENT, SECRET, "s")
    newer = {f"{CREDENTIALS}.id": CLIENT, f"{CREDENTIALS}.secret": SECRET}
    assert security_of({**PROTOCOL, URL: provider.token_url, **newer}).tokens is not None
    assert f"{CREDENTIALS}.secret" in SECRETS
    token, expires_s = librdkafka_security(settings)["oauth_cb"]("")
    assert token.count(".") == 2
    assert expires_s > 0


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({}, "needs a token"),
        ({URL: "https://idp/token"}, "wants credentials"),
        ({URL: "file:///t", "sasl.login.callback.handler.class": "com.example.Mine"}, "cannot be run"),
        ({URL: "file:///t", "sasl.jaas.config": "nonsense"}, "cannot be read"),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(ClientError, match=complaint):
        security_of({**PROTOCOL, **changes})


def test_a_provider_that_gives_none(provider: Provider, tmp_path: Path) -> None:
    with pytest.raises(OAuthError, match="401") as refused:
        token_of(TokenSource(provider.token_url, CLIENT, "guessed"))
    assert "invalid_client" in str(refused.value)
    assert "guessed" not in str(refused.value)
    (tmp_path / "empty").write_text("")
    security = security_of({**PROTOCOL, URL: (tmp_path / "empty").as_uri()})
    with pytest.raises(ClientError, match="holds no token"):
        security.who()
    with pytest.raises(ClientError, match="No such file"):
        security_of({**PROTOCOL, URL: (tmp_path / "gone").as_uri()}).who()
